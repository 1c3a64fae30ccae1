"""Node selectors over columns give what the rule gives node by node."""

from typing import Any

import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_selection import NodeSelection
from doorman.scheduler.cache.resource_ids import ResourceIds
from support.scheduling import make_node, make_pod


@pytest.fixture
def cluster() -> ClusterState:
    resources = ResourceIds()
    cluster = ClusterState(resources)
    for name, labels in (("a", {"zone": "1", "cores": "8"}), ("b", {"zone": "2"}), ("c", {"zone": "1", "gpu": ""})):
        cluster.set_node(make_node(name, labels=labels))
    return cluster


def selected(cluster: ClusterState, **spec: Any) -> str:
    selection = NodeSelection(cluster, make_pod("p", **spec).spec)
    found = selection.matches(cluster.all_rows)
    return "".join(name for name in "abc" if found[cluster.row_or_none(name) or 0])


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": affinity}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, "abc", id="nothing-asked"),
        pytest.param({"nodeSelector": {"zone": "1"}}, "ac", id="selector"),
        pytest.param({"nodeSelector": {"zone": "1", "cores": "8"}}, "a", id="selector-and"),
        pytest.param(required({"matchExpressions": [expression("zone", "NotIn", "1")]}), "b", id="not-in"),
        pytest.param(required({"matchExpressions": [expression("gpu", "Exists")]}), "c", id="exists"),
        pytest.param(required({"matchExpressions": [expression("cores", "Gt", "4")]}), "a", id="greater"),
        pytest.param(
            required({"matchExpressions": [expression("zone", "In", "1"), expression("gpu", "DoesNotExist")]}), "a",
            id="expressions-of-a-term-all",
        ),
        pytest.param(
            required(
                {"matchExpressions": [expression("zone", "In", "2")]},
                {"matchExpressions": [expression("gpu", "Exists")]},
            ),
            "bc", id="terms-any",
        ),
        pytest.param(required({"matchFields": [expression("metadata.name", "In", "b")]}), "b", id="name"),
        pytest.param(required({"matchFields": [expression("metadata.name", "NotIn", "b")]}), "ac", id="other-names"),
        pytest.param(required({"matchFields": [expression("metadata.name", "In", "nope")]}), "", id="unknown-name"),
        pytest.param(required({}), "", id="a-term-without-demands-matches-nothing"),
        pytest.param(
            {"nodeSelector": {"zone": "1"}, **required({"matchExpressions": [expression("gpu", "Exists")]})}, "c",
            id="selector-and-affinity",
        ),
    ],
)  # fmt: skip
def test_selection(cluster: ClusterState, spec: dict[str, Any], expected: str) -> None:
    assert selected(cluster, **spec) == expected


def test_only_a_pod_that_asks_nothing_is_empty(cluster: ClusterState) -> None:
    assert NodeSelection(cluster, make_pod("p").spec).is_empty
    assert not NodeSelection(cluster, make_pod("p", nodeSelector={"a": "b"}).spec).is_empty


def test_one_row_is_answered_like_all(cluster: ClusterState) -> None:
    selection = NodeSelection(cluster, make_pod("p", nodeSelector={"zone": "1"}).spec)
    assert [int(selection.matches(row)) for row in range(3)] == [1, 0, 1]
    cluster.set_node(make_node("b", labels={"zone": "1"}))
    assert int(selection.matches(1)) == 1, "the label has changed"
