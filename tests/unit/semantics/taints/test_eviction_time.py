"""When a pod leaves: a row for each rule, and the seconds recorded from the real controller's function."""

import json
from pathlib import Path

import pytest

from doorman.api.taints import Taint, Toleration
from doorman.semantics.library import to_taint, to_toleration
from doorman.semantics.taints.eviction_time import NEVER, At, Eviction, Now, decide_eviction, min_toleration_seconds

RECORDED = Path(__file__).parents[3] / "conformance" / "cases" / "matching-min-toleration.jsonl"

NOW = 1000.0
K = Taint(key="k", value="v", effect="NoExecute")
L = Taint(key="l", effect="NoExecute")


def exists(key: str = "", seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param([], [], NEVER, id="rule-1-no-taints"),
        pytest.param([Taint(key="k", effect="NoSchedule")], [], NEVER, id="rule-1-other-effects-do-not-count"),
        pytest.param([K], [], Now(taint=K), id="rule-2-not-tolerated"),
        pytest.param([K, L], [exists("k")], Now(taint=L), id="rule-2-one-of-two-not-tolerated"),
        pytest.param([K, L], [exists("k", 5)], Now(taint=L), id="rule-2-before-any-seconds"),
        pytest.param(
            [K],
            [exists("k", 60), exists("k")],
            At(instant=1060.0, taint=K, toleration=exists("k", 60)),
            id="rule-3-first-match-not-the-best",
        ),
        pytest.param([K], [exists("k"), exists("k", 60)], NEVER, id="rule-3-first-match-without-seconds"),
        pytest.param([K], [exists("", 0)], Now(taint=K, toleration=exists("", 0)), id="rule-4-zero"),
        pytest.param([K], [exists("", -7)], Now(taint=K, toleration=exists("", -7)), id="rule-4-negative"),
        pytest.param(
            [K, L],
            [exists("k", 300), exists("l", 10)],
            At(instant=1010.0, taint=L, toleration=exists("l", 10)),
            id="rule-5-smallest",
        ),
        pytest.param(
            [K, L],
            [exists("k", 300), exists("l")],
            At(instant=1300.0, taint=K, toleration=exists("k", 300)),
            id="rule-5-without-seconds-puts-no-limit",
        ),
        pytest.param([K, L], [exists()], NEVER, id="rule-5-no-seconds-at-all"),
        pytest.param([K], [exists("", 9223372037)], NEVER, id="rule-6-overflow-is-for-ever"),
        pytest.param([K], [exists("", 2**63 - 1)], NEVER, id="rule-6-largest-is-for-ever"),
        pytest.param(
            [K],
            [exists("", 9223372036)],
            At(instant=NOW + 9223372036, taint=K, toleration=exists("", 9223372036)),
            id="rule-6-just-fits",
        ),
    ],
)
def test_decide_eviction(taints: list[Taint], tolerations: list[Toleration], expected: Eviction) -> None:
    assert decide_eviction(taints, tolerations, NOW) == expected


def test_decide_eviction_with_comparison_operators_off_does_not_see_gt() -> None:
    number = Taint(key="k", value="5", effect="NoExecute")
    gt = Toleration(key="k", operator="Gt", value="1")
    assert decide_eviction([number], [gt], NOW) == NEVER
    assert decide_eviction([number], [gt], NOW, comparison_operators=False) == Now(taint=number)


def test_min_toleration_seconds_every_recorded_line() -> None:
    lines = RECORDED.read_text().splitlines()
    assert len(lines) == 1000
    for number, line in enumerate(lines, 1):
        case = json.loads(line)
        found = min_toleration_seconds(
            [to_taint(taint) for taint in case["taints"]], [to_toleration(one) for one in case["tolerations"]]
        )
        assert found == (case["all_tolerated"], case["min_seconds"]), f"line {number}: {line}"


def test_min_toleration_seconds_of_no_taints_is_zero() -> None:
    assert min_toleration_seconds([], [exists()]) == (True, 0)
