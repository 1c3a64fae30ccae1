"""MutatingAdmissionPolicy: changes written in CEL, bound to what they are for.

Rules
-----
1. A policy counts through its bindings, in the order of their names, as with validating policies: what matches, match
   conditions, parameters, variables and what expressions may speak of are the same.
2. A mutation of type ApplyConfiguration gives an `Object` with what is to be so; merged as server-side apply does,
   and may not name the object anew or replace a list or map that is only replaced as a whole.
3. A mutation of type JSONPatch gives a list of `JSONPatch` operations.
4. Each mutation sees what those before it made of the object. With reinvocationPolicy IfNeeded a policy is asked once
   more when another one changed the object after it.
5. What fails refuses the request under failurePolicy Fail and is passed over under Ignore.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from doorman.admission.admission_review import BadAnswer, patched
from doorman.admission.plugin_contract import Attributes, ClusterReader, Operation, VersionedResource, refusal
from doorman.admission.policies.policy_params import params_of, prepare_params
from doorman.admission.policies.policy_variables import (
    AuthorizerLookup,
    Variables,
    conditions_hold,
    nobody_may,
    policy_names_seen,
)
from doorman.admission.request_versions import versioned_attributes_async
from doorman.admission.rule_matching import resources_match
from doorman.api.json_values import copied
from doorman.api.views.admissionregistration import (
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    Binding,
    MutatingPolicy,
    Mutation,
)
from doorman.api.views.meta import to_view
from doorman.base.json_types import Document
from doorman.base.loop_turns import in_slices
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.expression import evaluate

PLUGIN: Final = "MutatingAdmissionPolicy"
_FIXED: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "generateName"), ("metadata", "uid"))

Merge = Callable[[VersionedResource, Document, Document], Document]
"""From an object in some version to the same with a configuration merged in. Raises CelError when that must not be."""


class Bound(msgspec.Struct, frozen=True):
    """A policy and one of its bindings."""

    policy: MutatingPolicy
    binding: Binding


class MutatingPolicies:
    def __init__(self, merge: Merge, authorize: AuthorizerLookup = nobody_may) -> None:
        self._merge = merge
        self._authorize = authorize

    def read(self, cluster: ClusterReader) -> tuple[Bound, ...]:
        """All policies with their bindings, in the order in which they are asked."""
        found = (to_view(doc, MutatingPolicy) for doc in cluster.list(MUTATING_POLICIES))
        policies = {policy.metadata.name: policy for policy in found}
        bindings = [to_view(doc, Binding) for doc in cluster.list(MUTATING_BINDINGS)]
        bindings.sort(key=lambda one: one.metadata.name)
        return tuple(Bound(policies[one.spec.policy_name], one) for one in bindings if one.spec.policy_name in policies)

    async def mutate(self, bounds: Sequence[Bound], attributes: Attributes, cluster: ClusterReader) -> bool:
        """Change `attributes.obj` in place; whether anybody did. Raises the first refusal."""
        if attributes.obj is None or attributes.operation is Operation.DELETE:
            return False
        meter = CostBudget()
        asked: list[tuple[int, Bound, VersionedResource]] = []
        last_change = -1
        for index, bound in enumerate(bounds):
            target = _target_of(bound, attributes, cluster)
            if target is None:
                continue
            asked.append((index, bound, target))
            if await self._mutate(bound, attributes, target, cluster, meter):
                last_change = index
        for index, bound, target in asked:
            if index < last_change and bound.policy.spec.reinvocation_policy == "IfNeeded":
                await self._mutate(bound, attributes, target, cluster, meter)
        return last_change >= 0

    async def _mutate(
        self, bound: Bound, attributes: Attributes, target: VersionedResource, cluster: ClusterReader, meter: CostBudget
    ) -> bool:
        assert attributes.obj is not None, "there is something to change"
        before = copied(attributes.obj)
        try:
            await self._apply(bound, attributes, target, cluster, meter)
        except CelError as error:
            attributes.obj.clear()
            attributes.obj.update(before)
            if bound.policy.spec.failure_policy == "Ignore":
                return False
            names = f"policy '{bound.policy.metadata.name}' with binding '{bound.binding.metadata.name}'"
            raise refusal(attributes, f"{names} denied request: {error}") from error
        return attributes.obj != before

    async def _apply(
        self, bound: Bound, attributes: Attributes, target: VersionedResource, cluster: ClusterReader, meter: CostBudget
    ) -> None:
        assert attributes.obj is not None, "there is something to change"
        spec, ref = bound.policy.spec, bound.binding.spec.param_ref
        await prepare_params(spec.param_kind, ref, attributes, cluster)
        for param in params_of(spec.param_kind, ref, attributes, cluster):
            for mutation in spec.mutations:
                # Each sees what the one before made of the object.
                seen = await versioned_attributes_async(attributes, target)
                known = {**policy_names_seen(seen, cluster, self._authorize), "params": param}
                known["variables"] = Variables(spec.variables, known, meter)
                if not await in_slices(conditions_hold, spec.match_conditions, known, meter):
                    return
                assert seen.obj is not None, "there is something to change"
                changed = await in_slices(self._changed, mutation, target, seen.obj, known, meter)
                if attributes.equivalents is not None:
                    changed = await attributes.equivalents.convert_from_async(changed, target)
                attributes.obj.clear()
                attributes.obj.update(changed)

    def _changed(
        self, mutation: Mutation, target: VersionedResource, obj: Document, names: Document, meter: CostBudget
    ) -> Document:
        """Rules 2 and 3."""
        if mutation.apply_configuration is not None:
            config = evaluate(mutation.apply_configuration.expression, names, meter)
            if not isinstance(config, dict):
                raise CelError("applyConfiguration must evaluate to an Object")
            for path in _FIXED:
                if _has(config, path):
                    raise CelError(f"error applying patch: may not mutate {'.'.join(path)}")
            return self._merge(target, obj, config)
        operations = evaluate(mutation.json_patch.expression, names, meter) if mutation.json_patch is not None else []
        if not isinstance(operations, list):
            raise CelError("jsonPatch must evaluate to a list of JSONPatch")
        try:
            return patched(obj, operations)
        except BadAnswer as error:
            raise CelError(str(error)) from error


def _target_of(bound: Bound, attributes: Attributes, cluster: ClusterReader) -> VersionedResource | None:
    """In which version the policy sees the request; None when it is not about it."""
    limits = bound.binding.spec.match_resources
    if limits is not None and resources_match(limits, attributes, cluster) is None:
        return None
    return resources_match(bound.policy.spec.match_constraints, attributes, cluster)


def _has(config: Any, path: Sequence[str]) -> bool:  # JSON
    for name in path:
        if not isinstance(config, dict) or name not in config:
            return False
        config = config[name]
    return True
