import msgspec
import pytest

from doorman.base.json_types import Document
from doorman.registry.fastpath.object_bytes import object_bytes_of
from doorman.registry.fastpath.pod_bytes import apply_deletion_summary, deletion_summary_of, set_node
from support.stored_pods import FULL, stored


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
    pod_bytes = object_bytes_of(stored(doc))
    set_node(pod_bytes, 'n"1')
    assert msgspec.json.decode(b'{"metadata":{' + pod_bytes.kept())["spec"] == want


def test_digest_is_what_deletion_looks_at() -> None:
    pod = stored(FULL)
    pod_bytes = object_bytes_of(pod)
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
