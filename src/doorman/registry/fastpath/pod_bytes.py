"""A pod's kept bytes cut into parts, so that a write reads and makes only those it is about.

The server's own writes (a binding, the mark of a deletion, a condition) change a few members of a pod and leave its
spec and the bookkeeping of field owners, most of the bytes, as they are. A `PodBytes` holds those as bytes, unread:

    {"metadata":{"name":"a","generation":1,"managedFields":[ . . . ]},"spec":{ . . . },"status":{"phase":"Pending"}}
                 read                                       unread           unread            read when asked for
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from doorman.api.machinery.schema import Document
from doorman.registry.cache.stored_object import ITEM_HEAD, Stored, Unreadable

NOTHING: Final = Raw(b"")
GRACE_SECONDS: Final = 30


class PodMetadataBytes(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Everything metadata can have. The uid stands before owners, which have uids of their own."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | UnsetType = UNSET
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | UnsetType = UNSET
    generate_name: Raw = NOTHING
    namespace: Raw = NOTHING
    creation_timestamp: Raw = NOTHING
    self_link: Raw = NOTHING
    labels: Raw = NOTHING
    annotations: Raw = NOTHING
    owner_references: Raw = NOTHING
    finalizers: Raw = NOTHING
    managed_fields: Raw = NOTHING


class PodBytes(msgspec.Struct, forbid_unknown_fields=True):
    metadata: PodMetadataBytes
    spec: Raw = NOTHING
    status: Raw = NOTHING

    def set_node(self, node: str) -> None:
        """Into a spec that has none."""
        rest = bytes(self.spec)[1:]
        self.spec = Raw(b'{"nodeName":%s%s%s' % (_encode(node), b"," if len(rest) > 1 else b"", rest or b"}"))

    def kept(self) -> bytes:
        """The kept form (see `doorman.registry.cache.stored_object`)."""
        self.metadata.resource_version = ""
        parts = [_encode(self.metadata)[1:]]
        for name, part in ((b',"spec":', self.spec), (b',"status":', self.status)):
            if part is not NOTHING:
                parts += (name, part)
        parts.append(b"}")
        return b"".join(parts)


class _Life(msgspec.Struct, rename="camel"):
    """Of a spec or a status: what says how a pod may end."""

    node_name: str = ""
    termination_grace_period_seconds: int = GRACE_SECONDS
    phase: str = ""


_decode: Final = msgspec.json.Decoder(PodBytes).decode
_decode_life: Final = msgspec.json.Decoder(_Life).decode
_encode: Final = msgspec.json.Encoder().encode
_decode_any: Final = msgspec.json.Decoder().decode


def pod_bytes_of(stored: Stored) -> PodBytes:
    try:
        return _decode(stored.json(ITEM_HEAD))
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable(stored.key, error) from error


def read(part: Raw, empty: Any) -> Any:  # any JSON value
    """What a part says; `empty` when the pod does not have it."""
    return _decode_any(part) if part is not NOTHING else empty


def written(value: Any) -> Raw:  # any JSON value
    return Raw(_encode(value))


def deletion_summary_of(pod_bytes: PodBytes) -> Document:
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


def apply_deletion_summary(pod_bytes: PodBytes, summary: Document) -> None:
    """What a deletion changed, put back."""
    metadata, head = pod_bytes.metadata, summary["metadata"]
    metadata.generation = head.get("generation", UNSET)
    metadata.deletion_timestamp = head.get("deletionTimestamp", "")
    metadata.deletion_grace_period_seconds = head.get("deletionGracePeriodSeconds", UNSET)
    metadata.finalizers = written(head["finalizers"]) if "finalizers" in head else NOTHING
