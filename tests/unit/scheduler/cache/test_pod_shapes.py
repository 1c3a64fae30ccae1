"""Shapes and demands: what pods share, and what sets them apart."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.pod_shapes import ShapeTable, normalised_image
from doorman.scheduler.cache.resource_ids import ResourceIds
from support.scheduling import make_pod


@pytest.fixture
def table() -> ShapeTable:
    return ShapeTable(ResourceIds())


@pytest.mark.parametrize(
    ("more", "same_shape", "same_demand"),
    [
        pytest.param({}, True, True, id="name-alone"),
        pytest.param({"priority": 5}, True, True, id="priority-is-not-of-the-shape"),
        pytest.param({"metadata": {"annotations": {"a": "b"}}}, True, True, id="annotations"),
        pytest.param({"labels": {"a": "b"}}, False, True, id="labels"),
        pytest.param({"namespace": "other"}, False, True, id="namespace"),
        pytest.param({"tolerations": "a"}, False, False, id="tolerations"),
        pytest.param({"requests": {"cpu": "1"}}, False, False, id="requests"),
        pytest.param({"nodeSelector": {"a": "b"}}, False, False, id="selector"),
        pytest.param({"ports": [{"hostPort": 1}]}, False, False, id="host-port"),
        pytest.param({"ports": [{"containerPort": 1}]}, True, True, id="container-port"),
        pytest.param({"overhead": {"cpu": "1"}}, False, False, id="overhead"),
        pytest.param({"affinity": {"podAffinity": {}}}, False, True, id="pod-affinity"),
        pytest.param({"affinity": {"nodeAffinity": {}}}, False, False, id="node-affinity"),
        pytest.param({"topologySpreadConstraints": [{"maxSkew": 1}]}, False, True, id="spread"),
        pytest.param({"volumes": [{"name": "v"}]}, True, True, id="volumes"),
        pytest.param({"volumes": [{"name": "v", "image": {"reference": "i"}}]}, False, False, id="image-volume"),
        pytest.param({"node": "n1"}, False, False, id="node-name"),
    ],
)
def test_what_sets_pods_apart(table: ShapeTable, more: dict[str, Any], same_shape: bool, same_demand: bool) -> None:
    plain, other = table.take(make_pod("a")), table.take(make_pod("b", **more))
    assert (plain is other) is same_shape
    assert (plain.demand is other.demand) is same_demand


def test_placed_pod_keeps_the_shape_it_had_before(table: ShapeTable) -> None:
    waiting = table.take(make_pod("a"))
    assert table.take(make_pod("a", node="n1"), placed=True) is waiting
    assert waiting.demand.spec.node_name == ""


def test_demand_of_a_pod_first_seen_on_a_node_names_no_node(table: ShapeTable) -> None:
    placed = table.take(make_pod("a", node="n1"), placed=True)
    assert placed.demand.spec.node_name == ""


def test_idle_shapes_are_dropped_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorman.scheduler.cache.pod_shapes.IDLE_SHAPES_MAX", 2)
    gone: list[int] = []
    table = ShapeTable(ResourceIds(), on_gone=lambda shape: gone.append(shape.id))
    shapes = [table.take(make_pod("a", labels={"n": str(at)})) for at in range(4)]
    for shape in shapes[:3]:
        table.release(shape)
    assert gone == [shapes[0].id]
    assert table.take(make_pod("a", labels={"n": "2"})) is shapes[2]
    assert len(table) == 3


def test_signatures_of_plugins_set_pods_apart() -> None:
    table = ShapeTable(ResourceIds(), [lambda pod: pod.metadata.annotations])
    one = table.take(make_pod("a", metadata={"annotations": {"x": "1"}}))
    assert table.take(make_pod("b", metadata={"annotations": {"x": "1"}})) is one
    assert table.take(make_pod("c", metadata={"annotations": {"x": "2"}})).demand is not one.demand


@pytest.mark.parametrize(
    ("name", "expected"),
    [("app", "app:latest"), ("app:1", "app:1"), ("h:5000/app", "h:5000/app:latest"), ("a@sha256:b", "a@sha256:b")],
)
def test_image_without_tag_is_the_latest(name: str, expected: str) -> None:
    assert normalised_image(name) == expected


def test_specs_of_the_same_parts_have_one_demand_wherever_they_are() -> None:
    table = ShapeTable(ResourceIds())
    pod = make_pod("p", requests={"cpu": "1"}, tolerations="a:Exists")
    first = table.find(pod)
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"node_name": "n"}, True),
        ({"tolerations": make_pod("q", tolerations="b:Exists").spec.tolerations}, False),
        ({"node_selector": {"a": "b"}}, False),
        ({"overhead": {"cpu": "1"}}, False),
        ({"containers": make_pod("q", requests={"cpu": "2"}).spec.containers}, False),
    ]
    for changed, is_same in cases:
        other = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **changed))
        found = table.find(other, placed=True)
        assert (found.demand is first.demand) is is_same, changed
        apart = msgspec.convert(msgspec.to_builtins(other), Pod)
        assert table.find(apart, placed=True).demand is found.demand, "as if no part were shared"
