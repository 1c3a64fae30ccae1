"""validatingadmissionpolicy-status-controller: says of each policy that it was seen, and what looks wrong with it.

Expressions that compile are taken when a policy is written, whatever objects look like. Here they are held against the
schemas of the kinds the policy names: a field that such an object does not have is a warning in the policy's status.
A kind that is defined later is not looked at until the policy changes, as upstream.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.structural_schema import compile_schema
from doorman.api.views.admissionregistration import POLICIES, Policy
from doorman.api.views.apiextensions import CustomResourceDefinition
from doorman.base.clock import Instant
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.semantics.cel.policy_expressions import expressions_of, fault_of
from doorman.semantics.cel.typing.static_types import FieldTypes, Type

NAME: Final = "validatingadmissionpolicy-status-controller"
WORKERS: Final = 1
KINDS_MAX: Final = 10
"""A policy for more kinds is held against the first of them only."""
_CHECKED: Final = "spec.validations["
OBJECT_META: Final = "meta.v1.ObjectMeta"

TypeOf = Callable[[Kind], tuple[Type, FieldTypes]]
"""The type of a kind's objects, and who knows its members."""


def policy_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()


SOURCES: Final = (Source(POLICIES, policy_keys),)


def decide_kinds(policy: Policy, kinds: Kinds) -> list[Kind]:
    """The kinds that the rules of a policy name in so many words."""
    found: dict[str, Kind] = {}
    for rule in policy.spec.match_constraints.resource_rules:
        for group in sorted(rule.api_groups):
            for version in sorted(rule.api_versions):
                for resource in sorted(rule.resources):
                    kind = kinds.at(group, version, resource)
                    if kind is not None:
                        found.setdefault(f"{kind.group_version} {kind.kind}", kind)
    return sorted(list(found.values())[:KINDS_MAX], key=lambda kind: (kind.group, kind.version, kind.kind))


def decide_warnings(policy: Policy, kinds: Kinds, type_of: TypeOf) -> list[dict[str, str]]:
    """ExpressionWarnings: for each expression of a validation what is wrong with it, by kind."""
    doc = msgspec.to_builtins(policy)
    told: dict[str, list[str]] = {}
    for kind in decide_kinds(policy, kinds):
        own, fields = type_of(kind)
        for written in expressions_of(doc, {"object": own, "oldObject": own}):
            if not written.path.startswith(_CHECKED):
                continue
            given = msgspec.structs.replace(written, gives=())  # what it gives is looked at when it is written
            if fault := fault_of(given, fields).removeprefix("compilation failed: "):
                told.setdefault(written.path, []).append(f"{kind.group_version}, Kind={kind.kind}: {fault}\n")
    return [{"fieldRef": path, "warning": "\n".join(faults)} for path, faults in told.items()]


class KindTypes:
    """The types of built-in kinds from the table of types, of custom kinds from their definitions."""

    def __init__(
        self,
        rows: Mapping[str, Any],
        definitions: ListerOf[CustomResourceDefinition],  # rows of types
    ) -> None:
        self._rows = rows
        self._definitions = definitions

    def of(self, kind: Kind) -> tuple[Type, FieldTypes]:
        from doorman.semantics.cel.typing.object_types import ObjectTypes
        from doorman.semantics.cel.typing.schema_types import SchemaTypes

        types = ObjectTypes(self._rows)
        if not kind.is_custom:
            return types.of(kind.type_name), types.fields
        definition = self._definitions.get(kind.group_resource)
        versions = definition.spec.versions if definition is not None else ()
        found = next((one.schema for one in versions if one.name == kind.version), {})
        schema = compile_schema(found.get("openAPIV3Schema") or {})
        custom = SchemaTypes(lambda field: types.fields(OBJECT_META, field))

        def fields(name: str, field: str) -> Type | None:
            return types.fields(name, field) if name in self._rows else custom.fields(name, field)

        return custom.of(schema), fields


class PolicyStatusController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, policies: ListerOf[Policy], kinds: Kinds, type_of: TypeOf) -> None:
        self._policies = policies
        self._kinds = kinds
        self._type_of = type_of

    def start(self, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        policy = self._policies.get(key)
        if policy is None or policy.status.observed_generation == policy.metadata.generation:
            return DONE
        warnings = decide_warnings(policy, self._kinds, self._type_of)
        checked: dict[str, Any] = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": policy.metadata.generation, "typeChecking": checked}
        return Result(
            actions=[
                Patch(resource=POLICIES, name=key, subresource="status", body={"status": status}, type=PatchType.MERGE)
            ]
        )

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the policy tries again."""
