"""What a binding and a deletion change of a pod's bytes."""

from typing import Final

import msgspec
from msgspec import UNSET, Raw

from doorman.base.json_types import Document
from doorman.registry.fastpath.object_bytes import NOTHING, ObjectBytes, encode, read, written

GRACE_SECONDS: Final = 30


class _Life(msgspec.Struct, rename="camel"):
    """Of a spec or a status: what says how a pod may end."""

    node_name: str = ""
    termination_grace_period_seconds: int = GRACE_SECONDS
    phase: str = ""


_decode_life: Final = msgspec.json.Decoder(_Life).decode


def set_node(pod_bytes: ObjectBytes, node: str) -> None:
    """Into a spec that has none."""
    rest = bytes(pod_bytes.spec)[1:]
    pod_bytes.spec = Raw(b'{"nodeName":%s%s%s' % (encode(node), b"," if len(rest) > 1 else b"", rest or b"}"))


def deletion_summary_of(pod_bytes: ObjectBytes) -> Document:
    """As much of the document as a deletion looks at."""
    metadata = pod_bytes.metadata
    head: Document = {"name": metadata.name, "uid": metadata.uid, "resourceVersion": metadata.resource_version}
    if metadata.generation is not UNSET:
        head["generation"] = metadata.generation
    if metadata.finalizers is not NOTHING:
        head["finalizers"] = read(metadata.finalizers, [])
    if metadata.deletion_timestamp:
        head["deletionTimestamp"] = metadata.deletion_timestamp
    if metadata.deletion_grace_period_seconds is not UNSET:
        head["deletionGracePeriodSeconds"] = metadata.deletion_grace_period_seconds
    spec, status = _decode_life(pod_bytes.spec or b"{}"), _decode_life(pod_bytes.status or b"{}")
    return {
        "metadata": head,
        "spec": {
            "nodeName": spec.node_name,
            "terminationGracePeriodSeconds": spec.termination_grace_period_seconds,
        },
        "status": {"phase": status.phase},
    }


def apply_deletion_summary(pod_bytes: ObjectBytes, summary: Document) -> None:
    """What a deletion changed, put back."""
    metadata, head = pod_bytes.metadata, summary["metadata"]
    metadata.generation = head.get("generation", UNSET)
    metadata.deletion_timestamp = head.get("deletionTimestamp", "")
    metadata.deletion_grace_period_seconds = head.get("deletionGracePeriodSeconds", UNSET)
    metadata.finalizers = written(head["finalizers"]) if "finalizers" in head else NOTHING
