"""ValidatingAdmissionPolicy: conditions in CEL that an object must meet, bound to what they are for.

Rules
-----
1. A policy counts through its bindings, in the order of their names; a binding without its policy does nothing. Policy
   and binding must both match the request, and all match conditions be true.
2. An expression may speak of object, oldObject, request, namespaceObject, params, variables and authorizer.
3. Every validation that is false is a failure: its messageExpression, else its message, else the expression is told.
   The reason (Invalid when there is none) gives the status.
4. An expression that fails counts as false under failurePolicy Fail and is passed over under Ignore. So does a policy
   that costs too much: all policies share one budget a request.
5. The action Deny refuses with the first failure, Warn tells whoever asks, Audit tells the audit log. What a policy and
   its binding get wrong between them refuses whatever the action.
6. Parameters: see `policy_params`. A policy is asked once with each.
7. Audit annotations are added to the request's audit event, under the policy's name.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from doorman.admission.plugin_contract import (
    ANY,
    WRITES,
    Attributes,
    ClusterReader,
    Interest,
    Operation,
    VersionedResource,
    refusal,
)
from doorman.admission.policies.policy_params import Misconfigured, params_of
from doorman.admission.policies.policy_variables import (
    AuthorizerLookup,
    Variables,
    conditions_hold,
    nobody_may,
    policy_names_of,
)
from doorman.admission.rule_matching import is_hidden, resources_match
from doorman.api.views.admissionregistration import (
    BINDINGS,
    MUTATING,
    MUTATING_POLICIES,
    POLICIES,
    VALIDATING,
    AuditAnnotation,
    Binding,
    Policy,
    Validation,
)
from doorman.api.views.meta import to_view
from doorman.base.clock import Instant
from doorman.base.errors import ApiError, Cause
from doorman.base.go_format import go_json
from doorman.base.json_types import Document
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.expression import evaluate, is_true

_EVERYTHING: Final = WRITES | {Operation.CONNECT}
INTERESTS: Final = (
    Interest(
        resource=ANY, subresource=ANY, operations=_EVERYTHING, passes=lambda _, cluster: not cluster.list(BINDINGS)
    ),
    *(
        # Their own expressions are looked at.
        Interest(resource=resource, subresource=ANY, operations=_EVERYTHING)
        for resource in (POLICIES, MUTATING_POLICIES, VALIDATING, MUTATING)
    ),
)

MESSAGE_BYTES_MAX: Final = 5 * 1024
ANNOTATION_BYTES_MAX: Final = 10 * 1024
FAILURE_ANNOTATION: Final = "validation.policy.admission.k8s.io/validation_failure"
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class PolicyFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Rule 3: why a policy says no. Without an index it is not about an expression, and refuses in any case."""

    message: str
    reason: str = "Invalid"
    index: int | None = None


def decide_failures(policy: Policy, names: Document, meter: CostBudget) -> Iterator[PolicyFailure]:
    """Rules 3 and 4, for one policy and one parameter."""
    spec = policy.spec
    for index, validation in enumerate(spec.validations):
        try:
            if is_true(validation.expression, names, meter):
                continue
        except CelError as error:
            if spec.failure_policy != "Ignore":
                why = f"expression '{validation.expression}' resulted in error: {error}"
                yield PolicyFailure(message=why, index=index)
            continue
        yield PolicyFailure(
            message=_message(validation, names, meter), reason=validation.reason or "Invalid", index=index
        )


class ValidatingAdmissionPolicies:
    name = "ValidatingAdmissionPolicy"
    interests: Sequence[Interest] = INTERESTS

    def __init__(self, authorize: AuthorizerLookup = nobody_may) -> None:
        self._authorize = authorize

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        if is_hidden(attributes):
            return
        bindings = cluster.list(BINDINGS)
        if not bindings:
            return
        meter = CostBudget()
        denial: ApiError | None = None
        found = (to_view(doc, Binding) for doc in bindings)
        for binding in sorted(found, key=lambda one: one.metadata.name):
            raw = cluster.get(POLICIES, "", binding.spec.policy_name)
            if raw is not None:
                denied = self._ask(to_view(raw, Policy), binding, attributes, cluster, meter)
                denial = denial or denied
        if denial is not None:
            raise denial

    def _ask(
        self, policy: Policy, binding: Binding, attributes: Attributes, cluster: ClusterReader, meter: CostBudget
    ) -> ApiError | None:
        """Rule 5: the refusal, if it comes to one."""
        limits = binding.spec.match_resources
        target = resources_match(policy.spec.match_constraints, attributes, cluster)
        if target is None or (limits is not None and resources_match(limits, attributes, cluster) is None):
            return None
        names = f"ValidatingAdmissionPolicy '{policy.metadata.name}' with binding '{binding.metadata.name}'"
        actions = binding.spec.validation_actions
        denial: ApiError | None = None
        for failure in self._failures(policy, binding, attributes, target, cluster, meter):
            if "Warn" in actions:
                attributes.warnings.append(f"Validation failed for {names}: {failure.message}")
            if "Audit" in actions and failure.index is not None:
                _tell_audit_log(attributes, policy, binding, failure)
            if denial is None and ("Deny" in actions or failure.index is None):
                denial = _denial(attributes, f"{names} denied request: {failure.message}", failure.reason)
        return denial

    def _failures(
        self,
        policy: Policy,
        binding: Binding,
        attributes: Attributes,
        target: VersionedResource,
        cluster: ClusterReader,
        meter: CostBudget,
    ) -> Iterator[PolicyFailure]:
        spec = policy.spec
        try:
            names = policy_names_of(attributes, target, cluster, self._authorize)
            for param in params_of(spec.param_kind, binding.spec.param_ref, attributes, cluster):
                known = {**names, "params": param}
                known["variables"] = Variables(spec.variables, known, meter)
                if not conditions_hold(spec.match_conditions, known, meter):
                    return
                _annotate(policy, attributes, known, meter)
                yield from decide_failures(policy, known, meter)
        except Misconfigured as error:
            if spec.failure_policy != "Ignore":
                yield PolicyFailure(message=str(error))
        except CelError as error:
            if spec.failure_policy != "Ignore":
                yield PolicyFailure(message=str(error), index=0)


def _message(validation: Validation, names: Document, meter: CostBudget) -> str:
    if validation.message_expression:
        try:
            told = evaluate(validation.message_expression, names, meter)
            if isinstance(told, str) and told.strip() and "\n" not in told and len(told.encode()) <= MESSAGE_BYTES_MAX:
                return told
        except CelError:
            pass  # the plain message is the fallback the API defines
    return validation.message.strip() or f"failed expression: {validation.expression.strip()}"


def _annotate(policy: Policy, attributes: Attributes, names: Document, meter: CostBudget) -> None:
    """Rule 7. Values of several parameters stand side by side; null is no value."""
    for annotation in policy.spec.audit_annotations:
        value = _annotation(annotation, names, meter, is_fatal=policy.spec.failure_policy != "Ignore")
        if value is None:
            continue
        key = f"{policy.metadata.name}/{annotation.key}"
        before = attributes.annotations.get(key)
        if before is None:
            attributes.annotations[key] = value
        elif value not in before.split(", "):
            attributes.annotations[key] = f"{before}, {value}"


def _annotation(annotation: AuditAnnotation, names: Document, meter: CostBudget, *, is_fatal: bool) -> str | None:
    try:
        value = evaluate(annotation.value_expression, names, meter)
        if value is not None and not isinstance(value, str):
            raise CelError("valueExpression must be a string or null")
    except CelError as error:
        if is_fatal:
            raise CelError(f"auditAnnotation '{annotation.key}' resulted in error: {error}") from error
        return None
    if value is None or not value.strip():
        return None
    return value.encode()[:ANNOTATION_BYTES_MAX].decode(errors="ignore")


def _tell_audit_log(attributes: Attributes, policy: Policy, binding: Binding, failure: PolicyFailure) -> None:
    told: list[Any] = msgspec.json.decode(attributes.annotations.get(FAILURE_ANNOTATION, "[]"))
    told.append(
        {
            "message": failure.message,
            "policy": policy.metadata.name,
            "binding": binding.metadata.name,
            "expressionIndex": failure.index,
            "validationActions": list(binding.spec.validation_actions),
        }
    )
    attributes.annotations[FAILURE_ANNOTATION] = go_json(told)


def _denial(attributes: Attributes, why: str, reason: str) -> ApiError:
    plain = refusal(attributes, why, causes=[Cause(message=why)])
    code = _CODES.get(reason, 422)
    return ApiError(code, reason, plain.message, details=plain.details, causes=plain.causes)
