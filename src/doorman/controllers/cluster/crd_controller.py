"""crd-controller: accepts the names of custom kinds, establishes them, and takes their objects away with them.

The API server does this in Kubernetes. It reads definitions, and the metadata of custom objects.

1. Names that no other established definition of the group has are accepted: `NamesAccepted`, and with that
   `Established`. A definition is served from the moment its status says so.
2. Of a definition that is being deleted all objects are deleted; when none is left the finalizer that holds it goes.

Keys: `names/<definition>`, `instance/<definition>/<namespace>/<name>`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.apiextensions import CLEANUP_FINALIZER, RESOURCE, CustomResourceDefinition, CustomResourceNames
from doorman.api.views.meta import Condition, Object
from doorman.base.clock import Instant
from doorman.base.go_format import quote
from doorman.base.instants import to_time
from doorman.client.actions import Action, Delete, Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "crd-controller"
WORKERS: Final = 8
LOOK_AGAIN_SECONDS: Final = 0.5

Instances = Callable[[str], Sequence[Object]]
"""From a definition's name (`widgets.example.com`) to all objects of it."""


def definition_keys(change: ObjectChange) -> Iterable[str]:
    definition: CustomResourceDefinition = change.newest
    return (f"names/{definition.metadata.name}",)


def decide_names(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition]
) -> tuple[CustomResourceNames, Condition]:
    """The names that are free, and the condition that says so."""
    taken: set[str] = set()
    taken_kinds: set[str] = set()
    for other in others:
        if other.spec.group != definition.spec.group or other.metadata.name == definition.metadata.name:
            continue
        accepted = other.status.accepted_names
        taken |= {name for name in (accepted.plural, accepted.singular, *accepted.short_names) if name}
        taken_kinds |= {name for name in (accepted.kind, accepted.list_kind) if name}
    wanted, before = definition.spec.names, definition.status.accepted_names
    faults: list[tuple[str, str]] = []
    accepted = wanted
    for member, reason, name, others_names in (
        ("plural", "PluralConflict", wanted.plural, taken),
        ("singular", "SingularConflict", wanted.singular, taken),
        ("short_names", "ShortNamesConflict", None, taken),
        ("kind", "KindConflict", wanted.kind, taken_kinds),
        ("list_kind", "ListKindConflict", wanted.list_kind, taken_kinds),
    ):
        used = [one for one in (wanted.short_names if name is None else (name,)) if one in others_names]
        if used:
            faults.append((reason, ", ".join(f"{quote(one)} is already in use" for one in used)))
            accepted = msgspec.structs.replace(accepted, **{member: getattr(before, member)})
    if not faults:
        return accepted, Condition(
            type="NamesAccepted", status="True", reason="NoConflicts", message="no conflicts found"
        )
    return accepted, Condition(type="NamesAccepted", status="False", reason=faults[-1][0], message=faults[-1][1])


def decide_established(definition: CustomResourceDefinition, names: Condition) -> Condition:
    if definition.is_established or names.status == "True":
        return Condition(
            type="Established",
            status="True",
            reason="InitialNamesAccepted",
            message="the initial names have been accepted",
        )
    return Condition(type="Established", status="False", reason="NotAccepted", message="not all names are accepted")


def decide_status(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition], now: Instant
) -> Patch | None:
    """The status to write, None when it says so already."""
    accepted, named = decide_names(definition, others)
    wanted = (named, decide_established(definition, named))
    if accepted == definition.status.accepted_names and all(_is_said(definition, one) for one in wanted):
        return None
    conditions = [_written(definition, one, now) for one in wanted]
    kept = [_plain(one) for one in definition.status.conditions if one.type not in ("NamesAccepted", "Established")]
    names = msgspec.to_builtins(accepted)
    names = {name: list(value) if isinstance(value, tuple) else value for name, value in names.items()}
    body = {
        "metadata": {"resourceVersion": definition.metadata.resource_version},
        "status": {
            "acceptedNames": {name: value or None for name, value in names.items()},
            "conditions": [*conditions, *kept],
        },
    }
    return _patch(definition, body, subresource="status")


def decide_cleanup(definition: CustomResourceDefinition, instances: Sequence[Object], now: Instant) -> list[Action]:
    """What a definition that is being deleted needs: its objects gone, then its finalizer."""
    if instances:
        said = Condition(
            type="Terminating",
            status="True",
            reason="InstanceDeletionInProgress",
            message="CustomResource deletion is in progress",
        )
        if _is_said(definition, said):
            return []
        return [_patch(definition, {"status": {"conditions": _with(definition, said, now)}}, subresource="status")]
    left = [name for name in definition.metadata.finalizers if name != CLEANUP_FINALIZER]
    return [_patch(definition, {"metadata": {"uid": definition.metadata.uid, "finalizers": left or None}})]


def _patch(definition: CustomResourceDefinition, body: dict[str, Any], *, subresource: str = "") -> Patch:
    return Patch(
        resource=RESOURCE, name=definition.metadata.name, subresource=subresource, body=body, type=PatchType.MERGE
    )


def _is_said(definition: CustomResourceDefinition, wanted: Condition) -> bool:
    found = definition.status.condition(wanted.type)
    return found is not None and (found.status, found.reason, found.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    )


def _with(definition: CustomResourceDefinition, wanted: Condition, now: Instant) -> list[dict[str, Any]]:
    kept = [_plain(one) for one in definition.status.conditions if one.type != wanted.type]
    return [*kept, _written(definition, wanted, now)]


def _written(definition: CustomResourceDefinition, wanted: Condition, now: Instant) -> dict[str, Any]:
    found = definition.status.condition(wanted.type)
    since = found.last_transition_time if found is not None and found.status == wanted.status else to_time(now)
    return _plain(msgspec.structs.replace(wanted, last_transition_time=since))


def _plain(condition: Condition) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(condition).items() if value}


class CustomResourceDefinitionController:
    name = NAME
    sources = (Source(RESOURCE, definition_keys),)
    workers = WORKERS

    def __init__(self, definitions: ListerOf[CustomResourceDefinition], instances: Instances) -> None:
        self._definitions = definitions
        self._instances = instances

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind == "instance":
            return self._delete_instance(*rest.split("/"))
        definition = self._definitions.get(rest)
        if definition is None:
            # Names it held are free for others.
            waiting = [one for one in self._definitions.list() if not one.is_established]
            return Result(wakes=[(f"names/{one.metadata.name}", now) for one in waiting])
        if not definition.metadata.deletion_timestamp:
            status = decide_status(definition, self._definitions.list(), now)
            return Result(actions=(status,)) if status is not None else DONE
        if CLEANUP_FINALIZER not in definition.metadata.finalizers:
            return DONE
        instances = self._instances(rest)
        wakes = [
            (f"instance/{rest}/{one.metadata.namespace}/{one.metadata.name}", now)
            for one in instances
            if not one.metadata.deletion_timestamp
        ]
        if instances:
            wakes.append((key, now + LOOK_AGAIN_SECONDS))
        return Result(actions=decide_cleanup(definition, instances, now), wakes=wakes)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """A definition is looked at again when it changes, one that is being deleted in any case."""
        return

    def _delete_instance(self, definition: str, namespace: str, name: str) -> Result:
        return Result(actions=(Delete(resource=definition, namespace=namespace, name=name, propagation="Background"),))
