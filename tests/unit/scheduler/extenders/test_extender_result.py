"""What the answers of extenders mean for nodes."""

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.extenders.extender_result import (
    ExtenderRejection,
    ExtenderResult,
    ExtenderResultFilter,
    weighted_score,
)
from doorman.scheduler.framework import FINAL
from support.scheduling import make_node


def test_opinion_over_rows() -> None:
    resources = ResourceIds()
    cluster = ClusterState(resources)
    for name in ("kept", "no", "never", "left-out"):
        cluster.set_node(make_node(name))
    result = ExtenderResult(
        kept=frozenset({"kept", "gone"}),
        rejected={
            "no": ExtenderRejection("full", False),
            "never": ExtenderRejection("broken", True),
            "gone": ExtenderRejection("x", True),
        },
    )
    found = ExtenderResultFilter(cluster, result)
    codes = [int(found.codes(row)) for row in range(4)]
    assert codes[0] == 0
    assert [bool(code & FINAL) for code in codes] == [False, False, True, True]
    assert [list(found.reasons(code)) for code in codes[1:]] == [["full"], ["broken"], []]
    assert [detail.reason for detail in found.details(1)] == ["full"]
    assert found.details(0) == ()


def test_scores_count_ten_times_the_weight() -> None:
    assert weighted_score(10, 1) == 100
