"""Views of pods beside those that are decoded alone: always equal, and shared where that cannot be told."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.base.json_types import Document
from doorman.registry.cache.pod_views import PodViews
from doorman.registry.cache.stored_object import ITEM_HEAD, Stored, to_kept_bytes
from doorman.store.store_contract import Entry

decode_alone = msgspec.json.Decoder(Pod).decode


def pod(doc: Document, revision: int, views: PodViews) -> Stored:
    return Stored(Entry("pods/x/p", to_kept_bytes(doc), revision, 1), "x/p", views.decode)


def alone(stored: Stored) -> Pod:
    return decode_alone(stored.json(ITEM_HEAD))


def with_token(drawn: str, **spec: Any) -> Document:
    volume, mount = {"name": drawn, "projected": {}}, {"name": drawn, "mountPath": "/t"}
    containers = [{"name": "c", "image": "i", "volumeMounts": [mount]}]
    return {"metadata": {"name": "p"}, "spec": {"volumes": [volume], "containers": containers, **spec}, "status": {}}


@pytest.mark.parametrize(
    ("before", "after", "is_shared"),
    [
        pytest.param({}, {"status": {"phase": "Running"}}, True, id="status"),
        pytest.param({}, {"metadata": {"name": "p", "deletionTimestamp": "t"}}, True, id="metadata"),
        pytest.param({}, {"spec": {"nodeName": "n", "priority": 2}}, False, id="spec"),
        pytest.param({"spec": {"nodeName": "n"}}, {"spec": {"nodeName": "n", "priority": 2}}, False, id="longer-spec"),
        pytest.param({}, {"spec": {}}, False, id="no-spec"),
    ],
)
def test_version_shares_a_spec_that_has_not_changed(before: Document, after: Document, is_shared: bool) -> None:
    views = PodViews()
    plain: Document = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "priority": 1}, "status": {}}
    old, new = pod({**plain, **before}, 7, views), pod({**plain, **after}, 8, views)
    assert old.view.metadata.resource_version == "7"
    found = new.view_after(old, views)
    assert (found.spec is old.view.spec) is is_shared
    assert found == alone(new)
    assert new.view is found


def test_label_that_is_called_spec_misleads_nobody() -> None:
    views = PodViews()
    labels = {"a": "b", "spec": "x"}
    old = pod({"metadata": {"name": "p", "labels": labels}, "spec": {"priority": 1}}, 7, views)
    new = pod({"metadata": {"name": "p", "labels": labels}, "spec": {"priority": 2}}, 8, views)
    assert old.view.spec.priority == 1
    assert new.view_after(old, views) == alone(new)


def test_bound_pod_shares_all_but_the_node() -> None:
    views = PodViews()
    doc = with_token("kube-api-access-abcde")
    old = pod(doc, 7, views)
    assert old.view.spec.node_name == ""
    new = pod({**doc, "spec": {"nodeName": "n-1", **doc["spec"]}}, 8, views)
    assert new.view_after(old, views) == alone(new)
    assert new.view.spec.containers is old.view.spec.containers


def test_pods_that_differ_in_what_was_drawn_share_a_spec() -> None:
    views = PodViews()
    one, other = (pod(with_token(f"kube-api-access-{drawn}"), 7, views) for drawn in ("abcde", "vwxyz"))
    assert one.view.spec is other.view.spec
    assert other.view == alone(other)
    placed = pod({**with_token("kube-api-access-12345", nodeName="n"), "metadata": {"name": "q"}}, 8, views)
    assert placed.view == alone(placed)


@pytest.mark.parametrize(
    "doc",
    [
        pytest.param(lambda drawn: with_token("v", containers=[{"name": drawn, "image": "i"}]), id="container"),
        pytest.param(lambda drawn: with_token("v", nodeSelector={"a": drawn}), id="selector"),
        pytest.param(lambda drawn: with_token("v", schedulerName=drawn), id="scheduler"),
    ],
)
def test_name_like_a_drawn_one_elsewhere_is_shown(doc: Any) -> None:
    views = PodViews()
    for drawn in ("kube-api-access-abcde", "kube-api-access-vwxyz"):
        found = pod(doc(drawn), 7, views)
        assert found.view == alone(found)


def test_node_that_is_named_twice_is_not_taken_for_another() -> None:
    views = PodViews()
    kept = b'"name":"p"},"spec":{"nodeName":"a","nodeName":"b","priority":1},"status":{}}'
    found = Stored(Entry("pods/x/p", kept, 7, 1), "x/p", views.decode)
    assert found.view == alone(found)
