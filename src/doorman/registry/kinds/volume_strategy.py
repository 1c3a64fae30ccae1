"""What volumes and claims get when they are written: when a phase began, and what a claim is filled from."""

from typing import Final

from doorman.api.kinds import Kind
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.strategy import prepare_create, prepare_status, prepare_update

_SOURCES: Final = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})
"""What `dataSource`, the older of two names, may mean; anything else must be said by `dataSourceRef`."""


def create_volume(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    doc["status"] = {"phase": "Pending", "lastPhaseTransitionTime": to_time(now)}


def volume_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """Whoever changes the phase need not say when."""
    prepare_status(kind, new, old, now)
    after, before = new.setdefault("status", {}), old.get("status") or {}
    said, was = after.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if after.get("phase") != before.get("phase"):
        if said in (None, was):
            after["lastPhaseTransitionTime"] = to_time(now)
    elif said is None and was is not None:
        after["lastPhaseTransitionTime"] = was


def create_claim(kind: Kind, doc: Document, now: Instant) -> None:
    prepare_create(kind, doc, now)
    doc["status"] = {"phase": "Pending"}
    match_sources(doc.get("spec") or {}, {})


def update_claim(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    prepare_update(kind, new, old, now)
    match_sources(new.get("spec") or {}, old.get("spec") or {})


def match_sources(spec: Document, before: Document) -> None:
    """Two names for what a claim is filled from: the older one and the one that may name another namespace.

    Sources in other namespaces are not taken here, and what the older name cannot mean is left out.
    """
    reference = spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and before.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
        reference = None
    source = spec.get("dataSource")
    is_first = not before.get("dataSource") and not before.get("dataSourceRef")
    if source is not None and reference is None and is_first and not _is_plain(source):
        del spec["dataSource"]
        source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = {"apiGroup": None, **source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {"apiGroup": None, **reference}


def _is_plain(source: Document) -> bool:
    return (source.get("apiGroup") or "", source.get("kind")) in _SOURCES
