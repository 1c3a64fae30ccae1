"""PersistentVolumeClaims as kubectl describes them, by themselves and as templates of ephemeral volumes."""

from collections.abc import Iterable
from typing import Final

from doorman.api.well_known import STORAGE_CLASS_ANNOTATION
from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.cli.describe.description import NO_TIME, NOTHING, Description, Doc, Line, date, go_list, member
from doorman.cli.describe.related_objects import RelatedObjects

_MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CONDITIONS: Final = ("Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")
_NESTED: Final = "    "
"""What is below a template's labels stands as far in as the template itself."""


def describe_claim(out: Description, doc: Doc, related: RelatedObjects) -> None:
    metadata, spec = doc["metadata"], doc.get("spec") or {}
    out.pair("Name", metadata["name"])
    out.pair("Namespace", metadata.get("namespace", ""))
    out.pair("StorageClass", storage_class_of(doc))
    out.pair("Status", volume_phase(doc, related.now()))
    out.pair("Volume", spec.get("volumeName", ""))
    out.labels("Labels", metadata.get("labels"))
    out.annotations(metadata.get("annotations"))
    out.pair("Finalizers", go_list(metadata.get("finalizers")))
    _describe_wishes(out, doc)
    pods = related.items(f"/api/v1/namespaces/{metadata['namespace']}/pods")
    out.several("Used By", sorted(_users(doc, pods)))
    conditions = member(doc, "status", "conditions")
    if conditions:
        out.line("Conditions:")
        out.line("\t".join(_CONDITIONS), 1)
        out.line("----\t------\t-----------------\t------------------\t------\t-------", 1)
        for one in conditions:
            times = [date(one.get(field), NO_TIME) for field in ("lastProbeTime", "lastTransitionTime")]
            out.line(" \t".join([one["type"], one["status"], *times, one.get("reason", ""), one.get("message", "")]), 1)


def describe_claim_template(out: Description, template: Doc, level: int) -> None:
    """Of an ephemeral volume: what is not known before there is a claim is not told."""
    metadata = template.get("metadata") or {}
    out.pair("StorageClass", storage_class_of(template), level)
    out.pair("Volume", member(template, "spec", "volumeName") or "", level)
    for title, field, sign in (("Labels", "labels", "="), ("Annotations", "annotations", ": ")):
        found = [f"{key}{sign}{value}" for key, value in sorted((metadata.get(field) or {}).items())]
        out.several(title, [_NESTED + text for text in found or [NOTHING]], level)
    _describe_wishes(out, template, level)


def storage_class_of(doc: Doc) -> str:
    """Of a claim or a volume; an old annotation comes first."""
    annotations = member(doc, "metadata", "annotations") or {}
    return str(annotations.get(STORAGE_CLASS_ANNOTATION) or member(doc, "spec", "storageClassName") or "")


def access_modes_text(modes: Iterable[str] | None) -> str:
    """
    >>> access_modes_text(["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"])
    'RWO,RWX'
    """
    known = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in known)


def volume_phase(doc: Doc, now: Instant) -> str:
    ends = doc["metadata"].get("deletionTimestamp")
    if ends:
        return f"Terminating (lasts {human_span(now - from_time(ends))})"
    return str(member(doc, "status", "phase") or "")


def _describe_wishes(out: Description, doc: Doc, level: int = 0) -> None:
    """What it asks for, and what of it is bound."""
    spec = doc.get("spec") or {}
    is_bound = bool(spec.get("volumeName"))
    out.pair("Capacity", (member(doc, "status", "capacity", "storage") or "0") if is_bound else "", level)
    modes = access_modes_text(member(doc, "status", "accessModes")) if is_bound else ""
    out.pair("Access Modes", modes, level)
    if spec.get("volumeMode") is not None:
        out.pair("VolumeMode", spec["volumeMode"], level)
    if spec.get("dataSource") is not None:
        out.line("DataSource:", level)
        fields = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
        out.lines(spec["dataSource"], [Line(title, field, level=level + 1) for title, field in fields])


def _users(claim: Doc, pods: Iterable[Doc]) -> list[str]:
    """Pods with a volume of it, and pods that own it."""
    owners = {one["uid"] for one in claim["metadata"].get("ownerReferences") or () if one["kind"] == "Pod"}
    name = claim["metadata"]["name"]
    found: list[str] = []
    for pod in pods:
        volumes = member(pod, "spec", "volumes") or ()
        uses = [volume for volume in volumes if member(volume, "persistentVolumeClaim", "claimName") == name]
        if uses or pod["metadata"]["uid"] in owners:
            found += [pod["metadata"]["name"]] * max(1, len(uses))
    return found
