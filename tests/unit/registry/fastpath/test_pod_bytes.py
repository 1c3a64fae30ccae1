import msgspec
import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.schema import Document
from doorman.api.views.pods import Pod
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.registry.fastpath.pod_bytes import (
    PodMetadataBytes,
    apply_deletion_summary,
    deletion_summary_of,
    pod_bytes_of,
)
from doorman.store.store_contract import Entry

FULL: Document = {
    "metadata": {
        "name": "a", "uid": "u", "resourceVersion": "7", "generation": 3, "generateName": "a-", "namespace": "x",
        "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}, "annotations": {"c": 'd"'},
        "ownerReferences": [{"uid": "o"}], "finalizers": ["f"], "managedFields": [{"manager": "m", "fieldsV1": {}}],
        "deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 0,
    },
    "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 5},
    "status": {"phase": "Running"},
}  # fmt: skip


def stored(doc: Document) -> Stored:
    return Stored(Entry("pods/x/a", to_kept_bytes(doc), 7, 7), "x/a", msgspec.json.Decoder(Pod).decode)


@pytest.mark.parametrize(
    "doc",
    [
        pytest.param(FULL, id="everything"),
        pytest.param({"metadata": {"name": "a", "resourceVersion": "7"}}, id="bare"),
        pytest.param({"metadata": {"name": "a", "labels": {}, "resourceVersion": "7"}, "spec": {}}, id="empty-members"),
    ],
)
def test_cut_that_is_not_changed_is_the_same_pod(doc: Document) -> None:
    kept = pod_bytes_of(stored(doc)).kept()
    assert Stored(Entry("pods/x/a", kept, 7, 7), "x/a", msgspec.json.Decoder(Pod).decode).document() == doc


def test_metadata_has_every_member_there_is() -> None:
    known = {field.encode_name for field in msgspec.structs.fields(PodMetadataBytes)}
    assert known == set(type_table()["meta.v1.ObjectMeta"]["fields"])


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"containers": []}, {"nodeName": 'n"1', "containers": []}, id="among-others"),
        pytest.param({}, {"nodeName": 'n"1'}, id="alone"),
        pytest.param(None, {"nodeName": 'n"1'}, id="without-spec"),
    ],
)
def test_node_goes_into_spec(spec: Document | None, want: Document) -> None:
    doc: Document = {"metadata": {"name": "a"}} | ({"spec": spec} if spec is not None else {})
    pod_bytes = pod_bytes_of(stored(doc))
    pod_bytes.set_node('n"1')
    assert msgspec.json.decode(b'{"metadata":{' + pod_bytes.kept())["spec"] == want


def test_digest_is_what_deletion_looks_at() -> None:
    pod = stored(FULL)
    pod_bytes = pod_bytes_of(pod)
    summary = deletion_summary_of(pod_bytes)
    assert summary["metadata"] == {
        name: FULL["metadata"][name]
        for name in (
            "name", "uid", "resourceVersion", "generation", "finalizers", "deletionTimestamp",
            "deletionGracePeriodSeconds",
        )
    }  # fmt: skip
    assert (summary["spec"], summary["status"]) == (FULL["spec"], FULL["status"])
    del summary["metadata"]["finalizers"]
    summary["metadata"]["generation"] = 4
    apply_deletion_summary(pod_bytes, summary)
    kept = msgspec.json.decode(b'{"metadata":{' + pod_bytes.kept())
    want = {name: value for name, value in FULL["metadata"].items() if name not in ("finalizers", "resourceVersion")}
    assert kept["metadata"] == {**want, "generation": 4}
