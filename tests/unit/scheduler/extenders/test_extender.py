"""Who is asked about which pod, and what an opinion means for nodes."""

import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.extenders.extender import (
    Extender,
    ExtenderRefused,
    ManagedResource,
    Opinion,
    OpinionFilter,
    in_turn,
    weighted_score,
)
from doorman.scheduler.framework import FINAL
from support.scheduling import make_node, make_pod

GPU = (ManagedResource(name="example.com/gpu"),)


@pytest.mark.parametrize(
    ("managed", "requests", "expected"),
    [
        pytest.param((), {}, True, id="rule-1-in-all"),
        pytest.param(GPU, {"cpu": "1"}, False, id="rule-1-names-none"),
        pytest.param(GPU, {"example.com/gpu": "1"}, True, id="rule-1-names-one"),
        pytest.param(GPU, {"example.com/gpu": "0"}, True, id="rule-1-even-of-none"),
    ],
)
def test_interest(managed: tuple[ManagedResource, ...], requests: dict[str, str], expected: bool) -> None:
    extender = Extender(url_prefix="u", managed_resources=managed)
    assert extender.is_interested(make_pod("p", requests=requests)) is expected


def test_limits_and_init_containers_count_for_interest() -> None:
    extender = Extender(url_prefix="u", managed_resources=GPU)
    init = [{"name": "i", "resources": {"limits": {"example.com/gpu": "1"}}}]
    assert extender.is_interested(make_pod("p", initContainers=init))


def test_who_may_be_ignored_is_asked_last() -> None:
    names = [(one.url_prefix, one.ignorable) for one in in_turn(
        [Extender(url_prefix="a", ignorable=True), Extender(url_prefix="b"), Extender(url_prefix="c")]
    )]  # fmt: skip
    assert names == [("b", False), ("c", False), ("a", True)]


def test_opinion_over_rows() -> None:
    resources = ResourceIds()
    cluster = ClusterState(resources, ShapeTable(resources))
    for name in ("kept", "no", "never", "left-out"):
        cluster.set_node(make_node(name))
    opinion = Opinion(
        kept=frozenset({"kept", "gone"}),
        refused={
            "no": ExtenderRefused("full", False),
            "never": ExtenderRefused("broken", True),
            "gone": ExtenderRefused("x", True),
        },
    )
    found = OpinionFilter(cluster, opinion)
    codes = [int(found.codes(row)) for row in range(4)]
    assert codes[0] == 0
    assert [bool(code & FINAL) for code in codes] == [False, False, True, True]
    assert [list(found.reasons(code)) for code in codes[1:]] == [["full"], ["broken"], []]
    assert [detail.reason for detail in found.details(1)] == ["full"]
    assert found.details(0) == ()


def test_scores_count_ten_times_the_weight() -> None:
    assert weighted_score(10, 1) == 100
