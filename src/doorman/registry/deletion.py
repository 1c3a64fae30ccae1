"""What a DELETE does to an object: a pure decision.

Three outcomes: the object is removed now, it is marked (a grace period runs, or finalizers hold it), or nothing
changes because it is already going. Namespaces are marked and emptied by their controller first.
"""

from typing import Final

import msgspec

from doorman.api.kinds import Kind
from doorman.api.views.apiextensions import CLEANUP_FINALIZER
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.well_known import EVENTS, FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from doorman.base.clock import Instant
from doorman.base.errors import (
    ApiError,
    FieldError,
    GroupResource,
    conflict,
    forbidden_request,
    invalid,
    invalid_object,
    not_supported,
)
from doorman.base.instants import from_time, to_time
from doorman.base.json_types import Document

_POLICIES: Final = ("Foreground", "Background", "Orphan")


class Preconditions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    grace_period_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: tuple[str, ...] = ()


class Remove(msgspec.Struct, frozen=True):
    """Take it out of the store now. A pod is shown as it would have been marked."""

    last: Document | None = None


class Mark(msgspec.Struct, frozen=True):
    """Write this document: it is being deleted from now on."""

    doc: Document


class Keep(msgspec.Struct, frozen=True):
    """It is already on its way; nothing changes."""


DeletionDecision = Remove | Mark | Keep


_SYSTEM_CLASSES: Final = frozenset({"system-node-critical", "system-cluster-critical"})


def check_deletable(kind: Kind, name: str) -> None:
    """The classes that the system's own pods rely on stay."""
    if kind.storage == "priorityclasses.scheduling.k8s.io" and name in _SYSTEM_CLASSES:
        raise forbidden_request(kind.named, name, "this is a system priority class and cannot be deleted")


def check_options(options: DeleteOptions) -> None:
    errors: list[FieldError] = []
    if options.propagation_policy is not None and options.orphan_dependents is not None:
        both = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", options.propagation_policy, both))
    if options.propagation_policy is not None and options.propagation_policy not in _POLICIES:
        supported = (*_POLICIES, "nil")
        errors.append(not_supported("propagationPolicy", options.propagation_policy, supported))
    if any(value != "All" for value in options.dry_run):
        errors.append(not_supported("dryRun", list(options.dry_run), ("All",)))
    if errors:
        raise invalid_object("DeleteOptions", "meta.k8s.io", "", errors)


def check_preconditions(kind: Kind, name: str, doc: Document, wanted: Preconditions) -> None:
    metadata = doc["metadata"]
    for label, expected, found, fate in (
        ("UID", wanted.uid, metadata["uid"], "deleted and then recreated"),
        ("ResourceVersion", wanted.resource_version, metadata["resourceVersion"], "modified"),
    ):
        if expected is not None and expected != found:
            raise _precondition_failed(kind, name, label, expected, found, fate)


def _precondition_failed(kind: Kind, name: str, label: str, expected: str, found: str, fate: str) -> ApiError:
    text = (
        f"the {label} in the precondition ({expected}) does not match the {label} in record ({found}). "
        f"The object might have been {fate}"
    )
    # Events of both groups are those of the first inside.
    group = kind.group if kind.storage != EVENTS else ""
    return conflict(GroupResource(group, kind.kind), name, text)


def decide_delete(
    kind: Kind, doc: Document, options: DeleteOptions, now: Instant, *, is_shown: bool = True
) -> DeletionDecision:
    """`is_shown`: somebody wants to see what a pod is like that goes at once."""
    finalizers = _finalizers_after(kind, doc, options)
    grace = pod_grace_seconds(doc, options) if kind.storage == "pods" else 0
    if kind.storage == "namespaces":
        return _delete_namespace(doc, finalizers, now)
    is_marked = "deletionTimestamp" in doc["metadata"]
    if kind.storage == DEFINITIONS and not is_marked:
        return Mark(_terminating_definition(doc, finalizers, now))
    if is_marked and kind.storage == "pods":
        return _delete_again(doc, options, finalizers, now, is_shown=is_shown)
    if grace == 0 and not finalizers:
        return Remove(_marked(doc, finalizers, 0, now)) if kind.storage == "pods" and is_shown else Remove()
    if is_marked:
        if finalizers == doc["metadata"].get("finalizers", []):
            return Keep()
        return Mark(_with_finalizers(_copied(doc), finalizers))
    return Mark(_marked(doc, finalizers, grace, now))


def pod_grace_seconds(doc: Document, options: DeleteOptions) -> int:
    """How long a pod may take to stop; none when no kubelet runs it."""
    spec = doc.get("spec", {})
    if not spec.get("nodeName") or doc.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    grace = options.grace_period_seconds
    if grace is None:
        grace = int(spec.get("terminationGracePeriodSeconds", 30))
    return 1 if grace < 0 else grace


def _delete_again(
    doc: Document, options: DeleteOptions, finalizers: list[str], now: Instant, *, is_shown: bool
) -> DeletionDecision:
    """A pod that is already terminating: only a shorter grace changes anything."""
    metadata = doc["metadata"]
    current = int(metadata.get("deletionGracePeriodSeconds", 0))
    wanted = options.grace_period_seconds
    if wanted is None or (wanted := 1 if wanted < 0 else wanted) >= current:
        if current == 0 and not finalizers:
            return Remove()
        return Keep()
    is_removed = wanted == 0 and not finalizers
    if is_removed and not is_shown:
        return Remove()
    due = from_time(metadata["deletionTimestamp"]) - current + wanted
    changed = _copied(doc)
    if due < now:
        due = now
        wanted = 1 if wanted else 0
    changed["metadata"]["deletionTimestamp"] = to_time(due)
    changed["metadata"]["deletionGracePeriodSeconds"] = wanted
    changed = _with_finalizers(changed, finalizers)
    return Remove(changed) if is_removed else Mark(changed)


def _delete_namespace(doc: Document, finalizers: list[str], now: Instant) -> DeletionDecision:
    if "deletionTimestamp" in doc["metadata"]:
        if not finalizers and not doc.get("spec", {}).get("finalizers"):
            return Remove()
        return Keep()
    marked = _marked(doc, finalizers, 0, now)
    marked["metadata"].pop("deletionGracePeriodSeconds", None)
    marked["status"] = {**marked.get("status", {}), "phase": "Terminating"}
    return Mark(marked)


def _terminating_definition(doc: Document, finalizers: list[str], now: Instant) -> Document:
    """A definition goes when the objects it defines are gone: until then a finalizer holds it."""
    held = finalizers if CLEANUP_FINALIZER in finalizers else [*finalizers, CLEANUP_FINALIZER]
    marked = _marked(doc, held, 0, now)
    status = marked.get("status", {})
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": to_time(now),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    others = [one for one in status.get("conditions") or () if one.get("type") != "Terminating"]
    marked["status"] = {**status, "conditions": [*others, condition]}
    return marked


def _marked(doc: Document, finalizers: list[str], grace: int, now: Instant) -> Document:
    marked = _copied(doc)
    metadata = marked["metadata"]
    metadata["deletionTimestamp"] = to_time(now + grace)
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    return _with_finalizers(marked, finalizers)


def _copied(doc: Document) -> Document:
    """A copy as deep as a deletion changes it."""
    return {**doc, "metadata": dict(doc["metadata"])}


def _with_finalizers(doc: Document, finalizers: list[str]) -> Document:
    if finalizers:
        doc["metadata"]["finalizers"] = finalizers
    else:
        doc["metadata"].pop("finalizers", None)
    return doc


def _finalizers_after(kind: Kind, doc: Document, options: DeleteOptions) -> list[str]:
    """The object's finalizers with the garbage collector's own according to the wished propagation."""
    found = list(doc["metadata"].get("finalizers", []))
    if kind.storage == "events":
        return found
    kept = [name for name in found if name not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    if options.orphan_dependents is not None:
        return [*kept, ORPHAN_FINALIZER] if options.orphan_dependents else kept
    match options.propagation_policy:
        case "Orphan":
            return [*kept, ORPHAN_FINALIZER]
        case "Foreground":
            return [*kept, FOREGROUND_FINALIZER]
        case "Background":
            return kept
    if ORPHAN_FINALIZER in found or FOREGROUND_FINALIZER in found:
        return found
    return [*kept, ORPHAN_FINALIZER] if kind.orphans_by_default else kept


def is_finally_gone(kind: Kind, doc: Document) -> bool:
    """An update that takes the last finalizer of a terminating object deletes it."""
    metadata = doc["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if kind.storage == "namespaces":
        return not doc.get("spec", {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")
