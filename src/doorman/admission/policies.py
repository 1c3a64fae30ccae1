"""ValidatingAdmissionPolicy: conditions in CEL that an object must meet, bound to what they are for.

Rules
-----
1. A policy counts through its bindings, in the order of their names; a binding without its policy does nothing. Policy
   and binding must both match the request, and all match conditions be true.
2. An expression may speak of object, oldObject, request, namespaceObject, params and variables.
3. The first validation that is false decides: its messageExpression, else its message, else the expression is told. The
   reason (Invalid when there is none) gives the status.
4. An expression that fails counts as false under failurePolicy Fail and is passed over under Ignore.
5. The action Deny refuses, Warn tells whoever asks.
6. Parameters are objects of the policy's kind, by name or by labels; none found refuses, unless the binding allows it.
7. Expressions that do not compile are refused when they are written, here and in webhooks' match conditions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from doorman.admission.cel import CelError, check, evaluate, is_true
from doorman.admission.contract import ANY, WRITES, Attributes, Cluster, Interest, Operation, refusal, requested_name
from doorman.admission.webhooks import conditions_hold, expression_names
from doorman.admission.webhooks_matching import is_hidden, resources_match
from doorman.api.kinds import builtin_kinds
from doorman.api.labels import matches
from doorman.api.schema import Document
from doorman.api.webhooks import BINDINGS, POLICIES, Binding, ParamRef, Policy, Validation
from doorman.base.clock import Instant
from doorman.base.errors import ApiError, Cause, FieldError, invalid, invalid_object

INTERESTS: Final = (Interest(resource=ANY, subresource=ANY, operations=WRITES | {Operation.CONNECT}),)

_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_NO_PARAMS: Final = (
    "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
)


class Failure(msgspec.Struct, frozen=True):
    """Rule 3: why a policy says no."""

    message: str
    reason: str = "Invalid"


def decide_failure(policy: Policy, names: Document) -> Failure | None:
    """Rules 3 and 4, for one policy and one parameter."""
    spec = policy.spec
    for validation in spec.validations:
        try:
            if is_true(validation.expression, names):
                continue
        except CelError as error:
            if spec.failure_policy == "Ignore":
                continue
            return Failure(f"expression '{validation.expression}' resulted in error: {error}")
        return Failure(_message(validation, names), validation.reason or "Invalid")
    return None


def expression_faults(doc: Mapping[str, Any]) -> list[FieldError]:
    """Rule 7, for a policy or a webhook configuration."""
    return [
        invalid(path, text, fault) for path, text in _expressions(doc) if (fault := _compile_fault(text)) is not None
    ]


class ValidatingAdmissionPolicies:
    name = "ValidatingAdmissionPolicy"
    interests: Sequence[Interest] = INTERESTS

    def validate(self, attributes: Attributes, cluster: Cluster, _now: Instant) -> None:
        if is_hidden(attributes):
            _check_expressions(attributes)
            return
        bindings = cluster.list(BINDINGS)
        if not bindings:
            return
        found = (msgspec.convert(doc, Binding) for doc in bindings)
        for binding in sorted(found, key=lambda one: one.metadata.name):
            raw = cluster.get(POLICIES, "", binding.spec.policy_name)
            if raw is not None:
                _ask(msgspec.convert(raw, Policy), binding, attributes, cluster)


def _ask(policy: Policy, binding: Binding, attributes: Attributes, cluster: Cluster) -> None:
    limits = binding.spec.match_resources
    if not resources_match(policy.spec.match_constraints, attributes, cluster):
        return
    if limits is not None and not resources_match(limits, attributes, cluster):
        return
    for failure in _failures(policy, binding, attributes, cluster):
        names = f"ValidatingAdmissionPolicy '{policy.metadata.name}' with binding '{binding.metadata.name}'"
        if "Warn" in binding.spec.validation_actions:
            attributes.warnings.append(f"Validation failed for {names}: {failure.message}")
        if "Deny" in binding.spec.validation_actions:
            raise _denial(attributes, f"{names} denied request: {failure.message}", failure.reason)


def _failures(policy: Policy, binding: Binding, attributes: Attributes, cluster: Cluster) -> Iterator[Failure]:
    names = expression_names(attributes)
    names["namespaceObject"] = cluster.get("namespaces", "", attributes.namespace) if attributes.namespace else None
    try:
        params = _params(policy, binding.spec.param_ref, attributes, cluster)
        for param in params:
            known = {**names, "params": param}
            if not conditions_hold(policy.spec.match_conditions, known):
                return
            known["variables"] = _variables(policy, known)
            failure = decide_failure(policy, known)
            if failure is not None:
                yield failure
    except CelError as error:
        if policy.spec.failure_policy != "Ignore":
            yield Failure(str(error))


def _params(
    policy: Policy, ref: ParamRef | None, attributes: Attributes, cluster: Cluster
) -> Iterable[Mapping[str, Any] | None]:
    """Rule 6. Raises CelError when there is nothing to go by."""
    kind = policy.spec.param_kind
    if kind is None or ref is None:
        return [None]
    resource = _resource_of(kind.api_version, kind.kind)
    if resource is None:
        raise CelError(f"failed to configure policy: failed to find resource referenced by paramKind: {kind.kind}")
    name, is_namespaced = resource
    namespace = (ref.namespace or attributes.namespace) if is_namespaced else ""
    if ref.name:
        one = cluster.get(name, namespace, ref.name)
        found = [one] if one is not None else []
    else:
        listed = cluster.list(name, namespace)
        found = [doc for doc in listed if matches(ref.selector, doc["metadata"].get("labels") or {})]
    if not found and ref.parameter_not_found_action != "Allow":
        raise CelError(_NO_PARAMS)
    return found


def _variables(policy: Policy, names: Document) -> Document:
    """Each may use those before it. One that fails is missing, and fails whoever uses it."""
    values: Document = {}
    for variable in policy.spec.variables:
        try:
            values[variable.name] = evaluate(variable.expression, {**names, "variables": values})
        except CelError:
            continue
    return values


def _message(validation: Validation, names: Document) -> str:
    if validation.message_expression:
        try:
            told = evaluate(validation.message_expression, names)
            if isinstance(told, str) and told.strip() and "\n" not in told:
                return told
        except CelError:
            pass  # the plain message is the fallback the API defines
    return validation.message or f"failed expression: {validation.expression.strip()}"


def _denial(attributes: Attributes, why: str, reason: str) -> ApiError:
    plain = refusal(attributes, why, causes=[Cause(message=why)])
    code = _CODES.get(reason, 422)
    return ApiError(code, reason, plain.message, details=plain.details, causes=plain.causes)


def _check_expressions(attributes: Attributes) -> None:
    if attributes.obj is None or attributes.subresource:
        return
    faults = expression_faults(attributes.obj)
    if faults:
        raise invalid_object(attributes.kind, attributes.group, requested_name(attributes), faults)


def _expressions(doc: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spec = doc.get("spec") or {}
    for field in ("matchConditions", "variables", "validations"):
        for index, one in enumerate(spec.get(field) or ()):
            yield f"spec.{field}[{index}].expression", one.get("expression", "")
            if one.get("messageExpression"):
                yield f"spec.{field}[{index}].messageExpression", one["messageExpression"]
    for outer, hook in enumerate(doc.get("webhooks") or ()):
        for index, one in enumerate(hook.get("matchConditions") or ()):
            yield f"webhooks[{outer}].matchConditions[{index}].expression", one.get("expression", "")


def _compile_fault(text: str) -> str | None:
    try:
        check(text)
    except CelError as error:
        return str(error)
    return None


@cache
def _resource_of(api_version: str, kind: str) -> tuple[str, bool] | None:
    """The group resource of a kind that Kubernetes has, and whether it is namespaced."""
    for row in builtin_kinds().rows:
        if row.group_version == api_version and row.kind == kind:
            return row.group_resource, row.namespaced
    return None
