"""From a snapshot to the entries of a store: objects as they were, with uids, times, bindings and owners.

Nothing goes through admission or validation, and nothing is made anew. Only nodes are changed: they become simulated. A
node that was not heard of stays silent, and one that was not well says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.well_known import KUBELET, LEASES, NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.base.instants import from_time, to_micro_time, to_time
from doorman.base.json_types import Document
from doorman.nodes.node_annotations import CONDITIONS, SILENT, SIMULATED
from doorman.nodes.status.simulated_health import CONDITION_TYPES
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.clean_documents import Body, clean_object
from doorman.snapshot.left_out_claims import LeftOutClaims
from doorman.snapshot.references import References, check, is_owner_expected
from doorman.snapshot.snapshot_format import Snapshot, SnapshotError, name_of
from doorman.snapshot.snapshot_kinds import kind_of
from doorman.store.store_contract import Entry

LEASE_SECONDS: Final = 40
"""After so long without renewal a kubelet's lease has expired."""


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What a store begins with."""

    entries: tuple[Entry, ...]
    resumed_at: Instant
    had_real_nodes: bool
    """Whether some nodes were not simulated: their pods did work that nobody knows the end of."""

    @property
    def revision(self) -> int:
        return len(self.entries)


def restored(snapshot: Snapshot) -> Restored:
    """Raises `SnapshotError`."""
    restoration = _Restoration(snapshot.taken_at)
    for doc in _documents(snapshot):
        restoration.take(doc)
    check(restoration.references.broken(), snapshot.dangling)
    restoration.add_missing_leases()
    restoration.add_missing_claims()
    entries = sorted(restoration.values.items())
    return Restored(
        entries=tuple(Entry(key, value, at, at) for at, (key, value) in enumerate(entries, start=1)),
        resumed_at=snapshot.taken_at,
        had_real_nodes=restoration.had_real_nodes,
    )


def _documents(snapshot: Snapshot) -> Iterator[Document]:
    try:
        yield from snapshot.documents()
    except msgspec.DecodeError as error:
        raise SnapshotError(f"a line of the snapshot is no JSON: {error}", "save it again") from error


class _Restoration:
    def __init__(self, now: Instant) -> None:
        self._now = now
        self._schema = Schema(type_table())
        self.values: dict[str, bytes] = {}
        self.references = References()
        self.had_real_nodes = False
        self._renewed: dict[str, Instant] = {}
        self._nodes: list[Document] = []
        self._claims = LeftOutClaims()

    def take(self, doc: Document) -> None:
        kind = kind_of(str(doc.get("apiVersion")), str(doc.get("kind")))
        if kind is None:
            return
        self.references.see(doc)
        self._claims.see(doc)
        if kind.storage == "nodes":
            self._nodes.append(doc)
            return
        if kind.storage == LEASES:
            self._renewed[doc["metadata"]["name"]] = _renew_time(doc)
            self._put(kind, with_field_owner(doc, self._now))
            return
        self._put(kind, doc)

    def add_missing_leases(self) -> None:
        """Nodes come last: whether one is silent is told by its lease."""
        for doc in self._nodes:
            name = doc["metadata"]["name"]
            if _ready(doc) == "True" and name not in self._renewed:
                # Left out of a dump, not missing in the cluster.
                self._renewed[name] = self._now
                self._put_lease(doc)
            self._put_node(doc)

    def add_missing_claims(self) -> None:
        for doc in self._claims.stand_ins():
            kind = kind_of(doc["apiVersion"], doc["kind"])
            assert kind is not None, "claims and volumes decide"
            self._put(kind, doc)

    def _put_node(self, doc: Document) -> None:
        kind = kind_of("v1", "Node")
        assert kind is not None, "nodes decide"
        metadata = doc["metadata"]
        annotations = dict(metadata.get("annotations") or {})
        if annotations.get(SIMULATED) != "true":
            self.had_real_nodes = True
            since = self._now - self._renewed.get(metadata["name"], 0.0)
            annotations |= simulated_annotations(doc, is_expired=since > LEASE_SECONDS)
        self._put(kind, {**doc, "metadata": {**metadata, "annotations": annotations}})

    def _put_lease(self, node: Document) -> None:
        kind = kind_of("coordination.k8s.io/v1", "Lease")
        assert kind is not None, "leases decide"
        name, uid = node["metadata"]["name"], node["metadata"].get("uid", "")
        metadata = {
            "name": name,
            "namespace": NODE_LEASE_NAMESPACE,
            "uid": f"{uid}-lease",
            "creationTimestamp": node["metadata"].get("creationTimestamp"),
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}],
        }
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": to_micro_time(self._now),
        }
        self._put(kind, with_field_owner({"metadata": metadata, "spec": spec}, self._now))

    def _put(self, kind: Kind, doc: Document) -> None:
        metadata = doc["metadata"]
        if any(not is_owner_expected(owner) for owner in metadata.get("ownerReferences") or ()):
            doc = {**doc, "metadata": _without_unknown_owners(metadata)}
        try:
            clean = clean_object(self._schema, kind, doc, Body(doc), "Ignore", [])
        except ApiError as error:
            raise SnapshotError(
                f"{name_of(doc)} cannot be read: {error.message}", "is it a server's output?"
            ) from error
        key = kind.store_key(metadata.get("namespace", ""), metadata["name"])
        self.values[key] = to_kept_bytes(clean)


def simulated_annotations(node: Document, *, is_expired: bool) -> dict[str, str]:
    """What makes a node go on, simulated, as it was."""
    told = {SIMULATED: "true"}
    conditions = {c.get("type"): c.get("status") for c in (node.get("status") or {}).get("conditions") or ()}
    if conditions.get("Ready") == "Unknown" or (conditions.get("Ready") == "True" and is_expired):
        return {**told, SILENT: "true"}
    bad = [f"{kind}=True" for kind in CONDITION_TYPES if kind != "Ready" and conditions.get(kind) == "True"]
    if conditions.get("Ready") == "False":
        bad.append("Ready=False")
    return {**told, CONDITIONS: ",".join(bad)} if bad else told


def with_field_owner(lease: Document, now: Instant) -> Document:
    """As a kubelet has written it: dumps do not say who owns fields, and renewals of such leases are cheap."""
    metadata = lease["metadata"]
    if metadata.get("managedFields"):
        return lease
    owned = {
        "apiVersion": "coordination.k8s.io/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {f"f:{name}": {} for name in ("holderIdentity", "leaseDurationSeconds", "renewTime")}},
        "manager": KUBELET,
        "operation": "Update",
        "time": to_time(now),
    }
    return {**lease, "metadata": {**metadata, "managedFields": [owned]}}


def _without_unknown_owners(metadata: Mapping[str, Any]) -> Document:
    """An owner of a kind that snapshots do not hold is neither there nor gone; nobody may conclude that it is."""
    kept = [owner for owner in metadata["ownerReferences"] if is_owner_expected(owner)]
    rest = {name: value for name, value in metadata.items() if name != "ownerReferences"}
    return {**rest, "ownerReferences": kept} if kept else rest


def _ready(node: Document) -> str:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            return str(condition.get("status"))
    return ""


def _renew_time(lease: Document) -> Instant:
    try:
        return from_time((lease.get("spec") or {}).get("renewTime") or "")
    except ValueError:
        return 0.0
