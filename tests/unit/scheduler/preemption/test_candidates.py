import numpy as np
import pytest

from doorman.scheduler.preemption.candidates import PreemptionCandidate, PreemptionCandidates

FINE, BROKEN, BETTER = (0, 5, 5, 1, -1.0), (1, 5, 5, 1, -1.0), (0, 5, 5, 1, -2.0)
Outcome = tuple[int, int, int, int, float] | int


def looked(outcomes: list[Outcome], order: list[int], enough: int) -> tuple[list[int], list[int], PreemptionCandidates]:
    """Rows found to clear, rows that were cleared for it."""
    cleared = []

    def clear(row: int) -> PreemptionCandidate | int:
        cleared.append(row)
        outcome = outcomes[row]
        return outcome if isinstance(outcome, int) else PreemptionCandidate(row, (), outcome)

    known = PreemptionCandidates()
    known.resize(len(outcomes))
    seen = known.look(np.array(order), enough, clear)
    again = known.look(np.array(order), enough, clear)
    assert seen.tolist() == again.tolist(), "what is known is not cleared again"
    return seen.tolist(), cleared, known


@pytest.mark.parametrize(
    ("outcomes", "order", "enough", "found", "best"),
    [
        pytest.param([FINE, FINE, FINE], [2, 0, 1], 1, [2], 2, id="first-is-enough"),
        pytest.param([7, FINE, FINE], [0, 1, 2], 1, [1], 1, id="failures-are-passed-over"),
        pytest.param([BROKEN, BROKEN, FINE, FINE], [0, 1, 2, 3], 1, [0, 1, 2], 2, id="one-without-broken-budget"),
        pytest.param([BROKEN, 7], [0, 1], 1, [0], 0, id="broken-budget-is-better-than-nothing"),
        pytest.param([FINE, BETTER, BETTER], [0, 1, 2], 3, [0, 1, 2], 1, id="first-of-the-best"),
        pytest.param([7, 8, 7], [0, 1, 2], 2, [], None, id="none"),
    ],
)
def test_looks_until_enough_clear(
    outcomes: list[Outcome], order: list[int], enough: int, found: list[int], best: int | None
) -> None:
    seen, cleared, known = looked(outcomes, order, enough)
    assert seen == found
    assert cleared == order[: len(cleared)], "in turn, and none that comes after"
    chosen = known.best(np.array(found))
    assert (None if chosen is None else chosen.row) == best


def test_failures_are_counted_by_verdict() -> None:
    found, _, known = looked([7, 8, 7, 7], [0, 1, 2, 3], 1)
    assert found == []
    assert known.failures(np.array([0, 1, 2, 3])) == {7: 3, 8: 1}


def test_what_is_forgotten_is_cleared_again() -> None:
    _, _, known = looked([FINE, FINE], [0, 1], 2)
    known.forget([1])
    seen = known.look(np.array([0, 1]), 2, lambda row: PreemptionCandidate(row, (), BETTER))
    assert [known.best(seen)] == [PreemptionCandidate(1, (), BETTER)]
