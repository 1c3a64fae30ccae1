"""Snapshots in files: what is written is what is read, and what cannot be read is told in one line."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from doorman.base.instants import from_time
from doorman.snapshot.snapshot_file import load, parse, save
from doorman.snapshot.snapshot_format import SnapshotError, snapshot_of

TAKEN = from_time("2026-01-01T00:01:00.250000Z")


def node(name: str = "n1") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}}


def pod(name: str, namespace: str = "default") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}


@pytest.mark.parametrize("name", ["cluster.jsonl", "cluster.jsonl.gz"])
def test_saved_snapshot_is_read_as_it_was(tmp_path: Path, name: str) -> None:
    snapshot = snapshot_of([pod("b"), node(), pod("a")], TAKEN, redacted=True, dangling=["Pod default/a"])
    save(snapshot, tmp_path / name)
    assert load(tmp_path / name) == snapshot
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing is left beside it"


def test_lines_are_in_order_whatever_order_objects_come_in() -> None:
    one = snapshot_of([pod("b"), node(), pod("a"), pod("a", "aa")], TAKEN)
    other = snapshot_of([pod("a", "aa"), pod("a"), pod("b"), node()], TAKEN)
    assert one == other
    names = [(doc["kind"], doc["metadata"].get("namespace"), doc["metadata"]["name"]) for doc in one.documents()]
    assert names == [("Node", None, "n1"), ("Pod", "aa", "a"), ("Pod", "default", "a"), ("Pod", "default", "b")]


def test_two_saved_files_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.gz", "other.gz"):
        save(snapshot_of([node()], TAKEN), tmp_path / name)
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "other.gz").read_bytes()


DUMP = b"""apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1, creationTimestamp: "2026-01-01T00:00:00Z"}}
- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: aHVudGVyMg==}}
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: n1, namespace: kube-node-lease}
  spec: {renewTime: 2026-01-01T00:00:42.500000Z}
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: leader, namespace: kube-system}
  spec: {renewTime: "2026-01-01T09:00:00.000000Z"}
"""


def test_dump_by_kubectl_is_as_old_as_its_newest_heartbeat_and_holds_what_decides() -> None:
    found = parse(DUMP, "dump.yaml")
    assert [doc["kind"] for doc in found.documents()] == ["Lease", "Node"]
    assert found.taken_at == from_time("2026-01-01T00:00:42.5Z")


def test_dump_without_leases_is_as_old_as_the_newest_condition() -> None:
    condition = b'{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:05:00Z"}'
    item = (
        b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","creationTimestamp":"2026-01-01T00:00:00Z"},'
        b'"status":{"conditions":[' + condition + b"]}}"
    )
    found = parse(b'{"kind":"NodeList","apiVersion":"v1","items":[' + item + b"]}", "dump.json")
    assert found.taken_at == from_time("2026-01-01T00:05:00Z")


HEAD = b'{"kind":"Snapshot","apiVersion":"doorman.dev/v1alpha1","version":1'
ONE_POD = b'{"kind":"PodList","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(HEAD + b"99}", "another version", id="version"),
        pytest.param(HEAD.replace(b"v1alpha1", b"v2") + b"}", "another version", id="api-version"),
        pytest.param(HEAD + b',"objects":3}\n{}', "holds 1 objects where its first line says 3", id="cut-short"),
        pytest.param(HEAD + b"}", "does not say when", id="no-time"),
        pytest.param(b"{{{{", "neither JSON nor YAML", id="garbage"),
        pytest.param(b"just text", "neither a snapshot nor a dump", id="text"),
        pytest.param(b"", "holds no nodes", id="empty"),
        pytest.param(ONE_POD, "no nodes", id="no-nodes"),
        pytest.param(b'{"kind":"List","items":[{"metadata":{}}]}', "no object", id="no-object"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line_with_a_hint(data: bytes, message: str) -> None:
    with pytest.raises(SnapshotError, match=message) as caught:
        parse(data, "file")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_files_that_are_not_there_or_cut_short_are_told(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="cannot be read"):
        load(tmp_path / "none")
    half = tmp_path / "half.gz"
    half.write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(SnapshotError, match="no complete gzip file"):
        load(half)
    with pytest.raises(SnapshotError, match="cannot be written"):
        save(snapshot_of([node()], TAKEN), tmp_path / "no" / "folder")
