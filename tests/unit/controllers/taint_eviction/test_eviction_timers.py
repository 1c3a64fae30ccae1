"""Timers that are taken up: since when the seconds of tolerations count."""

import pytest

from doorman.api.taints import Taint, Toleration
from doorman.api.views.pods import Pod
from doorman.base.instants import to_time
from doorman.controllers.taint_eviction.eviction_timers import arrival_of, decide_resumed_eviction, instant_or
from doorman.semantics.taints.eviction_time import NEVER, At, Eviction, Now

NOW = 1000.0


def taint(key: str, added: float | None) -> Taint:
    return Taint(key=key, effect="NoExecute", time_added=to_time(added) if added is not None else "")


def bears(key: str, seconds: int | None) -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


def shown(decision: Eviction) -> object:
    match decision:
        case At():
            return decision.instant, decision.taint.key
        case Now():
            return "now", decision.taint.key
        case _:
            return "never"


@pytest.mark.parametrize(
    ("taints", "tolerations", "came", "expected"),
    [
        pytest.param([taint("a", 900)], [bears("a", 300)], 0.0, (1200.0, "a"), id="rule-1-from-when-it-was-added"),
        pytest.param([taint("a", None)], [bears("a", 300)], 0.0, (1300.0, "a"), id="rule-1-undated-from-now"),
        pytest.param([taint("a", 900)], [bears("a", 300)], 950.0, (1250.0, "a"), id="rule-1-not-before-the-pod-came"),
        pytest.param([taint("a", 1100)], [bears("a", 300)], 0.0, (1300.0, "a"), id="rule-1-a-clock-ahead-counts-now"),
        pytest.param([taint("a", 100)], [bears("a", 300)], 0.0, (400.0, "a"), id="rule-1-overdue"),
        pytest.param(
            [taint("b", 950), taint("a", 900)], [bears("a", 300), bears("b", 10)], 0.0, (1200.0, "a"),
            id="rule-2-the-first-froze-it",
        ),
        pytest.param(
            [taint("b", 950), taint("a", 900)], [bears("a", None), bears("b", 60)], 0.0, (1010.0, "b"),
            id="rule-2-one-that-sets-none-freezes-none",
        ),
        pytest.param(
            [taint("a", 900), taint("b", 950)], [bears("a", 300)], 0.0, ("now", "b"), id="rule-2-intolerable-ends-it"
        ),
        pytest.param([taint("a", 900)], [bears("a", None)], 0.0, "never", id="for-ever"),
    ],
)  # fmt: skip
def test_resumed(taints: list[Taint], tolerations: list[Toleration], came: float, expected: object) -> None:
    decision = decide_resumed_eviction(taints, tolerations, NOW, came=came, comparison_operators=True)
    assert shown(decision) == expected


def test_no_taints_never() -> None:
    assert decide_resumed_eviction([], [], NOW, comparison_operators=True) is NEVER


def test_time_that_cannot_be_read_counts_as_none() -> None:
    assert instant_or("yesterday", 7.0) == 7.0
    assert instant_or("", 7.0) == 7.0
    assert arrival_of(Pod()) == 0.0
