"""validatingadmissionpolicy-status-controller: says of each policy that it was seen, and what looks wrong with it.

Expressions that compile are taken when a policy is written, whatever objects look like. Here they are held against the
schemas of the kinds the policy names: a field that such an object does not have is a warning in the policy's status.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds
from doorman.api.views.admissionregistration import POLICIES, Policy
from doorman.base.clock import Instant
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.semantics.cel.policy_expressions import expressions_of, fault_of

NAME: Final = "validatingadmissionpolicy-status-controller"
WORKERS: Final = 1
KINDS_MAX: Final = 10
"""A policy for more kinds is held against the first of them only."""


def policy_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()


SOURCES: Final = (Source(POLICIES, policy_keys),)


def decide_kinds(policy: Policy, kinds: Kinds) -> list[Kind]:
    """The kinds a policy names in so many words, in the order of its rules."""
    found: dict[str, Kind] = {}
    for rule in policy.spec.match_constraints.resource_rules:
        for group in rule.api_groups:
            for version in rule.api_versions:
                for resource in rule.resources:
                    kind = kinds.at(group, version, resource)
                    if kind is not None and not kind.is_custom:
                        found.setdefault(kind.type_name, kind)
    return list(found.values())[:KINDS_MAX]


def decide_warnings(policy: Policy, kinds: Kinds, rows: Mapping[str, Any]) -> list[dict[str, str]]:  # rows of types
    """ExpressionWarnings: for each expression what is wrong with it, by kind."""
    from doorman.semantics.cel.typing.object_types import ObjectTypes

    types = ObjectTypes(rows)
    doc = msgspec.to_builtins(policy)
    told: dict[str, list[str]] = {}
    for kind in decide_kinds(policy, kinds):
        own = types.of(kind.type_name)
        for written in expressions_of(doc, {"object": own, "oldObject": own}):
            if fault := fault_of(written, types.fields).removeprefix("compilation failed: "):
                told.setdefault(written.path, []).append(f"{kind.group_version}, Kind={kind.kind}: {fault}")
    return [{"fieldRef": path, "warning": "\n".join(faults)} for path, faults in told.items()]


class PolicyStatusController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, policies: ListerOf[Policy], kinds: Kinds, rows: Mapping[str, Any]) -> None:  # rows of types
        self._policies = policies
        self._kinds = kinds
        self._rows = rows

    def start(self, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        policy = self._policies.get(key)
        if policy is None or policy.status.observed_generation == policy.metadata.generation:
            return DONE
        warnings = decide_warnings(policy, self._kinds, self._rows)
        checked: dict[str, Any] = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": policy.metadata.generation, "typeChecking": checked}
        return Result(
            actions=[
                Patch(resource=POLICIES, name=key, subresource="status", body={"status": status}, type=PatchType.MERGE)
            ]
        )

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the policy tries again."""
