"""The plugins of a profile at their extension points: which are asked when, and who says no."""

from typing import Any

import numpy as np
import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.config.scheduler_config import Profile
from doorman.scheduler.cycle.profile_plugins import PluginReject, ProfilePlugins
from doorman.scheduler.extenders.extender_result import EXTENDER
from doorman.scheduler.framework import ActionType, EventResource, Hint, PreFilterReject, Scope, always
from support.scheduling import make_pod

RESOURCES = ResourceIds()
CLUSTER = ClusterState(RESOURCES)
SHAPES = CLUSTER.shapes


class Bound:
    def codes(self, rows: Any) -> Any:
        return np.zeros(1, dtype=np.int64)

    def raw(self, rows: Any) -> Any:
        return np.zeros(1, dtype=np.int64)

    def reasons(self, code: int) -> list[str]:
        return []

    def details(self, row: int) -> list[Any]:
        return []


class Filter:
    def __init__(self, name: str, scope: Scope = Scope.NODE, answer: Any = True) -> None:
        self.name = name
        self.filter_scope = self.score_scope = scope
        self._answer = Bound() if answer is True else answer

    def filter_for(self, shape: Shape, cluster: ClusterState) -> Any:
        return self._answer

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> Any:
        return self._answer


class Names:
    def __init__(self, name: str, *names: str) -> None:
        self.name = name
        self._names = frozenset(names) if names else None

    def node_names_or_none(self, shape: Shape) -> frozenset[str] | None:
        return self._names


class Hinting(Filter):
    def hints(self) -> list[Hint]:
        return [Hint(EventResource.NODE, ActionType.ADD, always)]


def plugins(*found: Any, **more: Any) -> ProfilePlugins:
    names = tuple(one.name for one in found)
    empty: dict[str, Any] = {
        "pre_enqueue": (),
        "pre_filters": names,
        "filters": names,
        "post_filters": (),
        "scores": (),
    }
    return ProfilePlugins(Profile(**{**empty, **more}), {one.name: one for one in found})


def shape() -> Shape:
    return SHAPES.take(make_pod("p"))


def test_name_that_nobody_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="Nobody does not exist"):
        plugins(Filter("a"), filters=("a", "Nobody"))
    assert [one.name for one in plugins(Filter("a"), filters=("PrioritySort", "a")).filters] == ["a"]


def test_filters_by_node_and_row_are_bound_with_their_place_in_the_order() -> None:
    found = plugins(
        Filter("whole", Scope.CLUSTER), Filter("silent", answer=None), Filter("row", Scope.ROW), Filter("node")
    ).bound_plugins(shape(), CLUSTER)
    assert [(one.index, one.scope) for one in found.filters] == [(2, Scope.ROW), (3, Scope.NODE)]


def test_scorers_have_the_weight_of_the_profile() -> None:
    found = plugins(Filter("a"), Filter("b"), scores=(("b", 7), ("a", 2))).bound_plugins(shape(), CLUSTER)
    assert [(one.index, one.weight) for one in found.scorers] == [(0, 7), (1, 2)]


def test_plugin_that_rejects_the_shape_is_named() -> None:
    with pytest.raises(PluginReject) as caught:
        plugins(Filter("a", answer=PreFilterReject(message="never"))).bound_plugins(shape(), CLUSTER)
    assert (caught.value.plugin, str(caught.value)) == ("a", "never")


@pytest.mark.parametrize(
    ("found", "names", "by"),
    [
        pytest.param([Names("a")], None, (), id="all"),
        pytest.param([Names("a", "n1", "n2"), Names("b")], {"n1", "n2"}, ("a",), id="one-says"),
        pytest.param([Names("b", "n1", "n2"), Names("a", "n2", "n3")], {"n2"}, ("a", "b"), id="what-all-say"),
    ],
)
def test_only_nodes_worth_a_look(found: list[Any], names: set[str] | None, by: tuple[str, ...]) -> None:
    assert plugins(*found).node_names(shape()) == (names, by)


def test_hints_of_who_may_reject_and_any_event_for_who_has_none() -> None:
    hints = plugins(Hinting("a"), Filter("b")).hints()
    assert set(hints) == {"a", "b", EXTENDER}
    assert [(hint.resource, hint.changes) for hint in hints["a"]] == [(EventResource.NODE, ActionType.ADD)]
    assert any(hint.resource is EventResource.WILDCARD or len(hints["b"]) > 1 for hint in hints["b"])


def test_who_is_asked_before_devices() -> None:
    found = plugins(Filter("a"), Filter("DynamicResources"), Filter("b"))
    assert [found.is_before_devices(name) for name in ("a", "b", "nope")] == [True, False, False]
    assert not plugins(Filter("a")).is_before_devices("a")
