"""Lines of a log: which there are between two instants, and when the next one comes."""

import pytest

from doorman.semantics.pods.run_logs import LogLine, RepeatedLine, RunLog, lines_of, next_line_at

FIXED = (LogLine(10.0, "up"), LogLine(14.0, "down"))


def every(seconds: float, *texts: str, first: float = 10.0, before: float = float("inf")) -> RepeatedLine:
    return RepeatedLine(texts=texts, first=first, period_seconds=seconds, before=before)


@pytest.mark.parametrize(
    ("log", "since", "until", "count", "expected"),
    [
        pytest.param(RunLog(began=10.0, lines=FIXED), 0.0, 99.0, 9, "up down", id="all"),
        pytest.param(RunLog(began=10.0, lines=FIXED), 11.0, 99.0, 9, "down", id="since"),
        pytest.param(RunLog(began=10.0, lines=FIXED), 0.0, 13.0, 9, "up", id="not-yet"),
        pytest.param(RunLog(began=10.0, lines=FIXED), 10.0, 14.0, 9, "up down", id="both-ends-belong-to-it"),
        pytest.param(RunLog(began=10.0, lines=FIXED), 0.0, 99.0, 1, "down", id="last"),
        pytest.param(RunLog(began=10.0, lines=FIXED), 0.0, 99.0, 0, "", id="none-asked-for"),
        pytest.param(RunLog(began=10.0, repeated=(every(2, "a", "b"),)), 0.0, 15.0, 9, "a b a", id="in-turn"),
        pytest.param(RunLog(began=10.0, repeated=(every(2, "a", "b"),)), 11.0, 15.0, 9, "b a", id="in-turn-since"),
        pytest.param(RunLog(began=10.0, ended=12.0, repeated=(every(1, "a"),)), 0.0, 99.0, 9, "a a a", id="ended"),
        pytest.param(RunLog(began=10.0, repeated=(every(1, "a", before=12.0),)), 0.0, 99.0, 9, "a a", id="stopped"),
        pytest.param(RunLog(began=10.0, repeated=(every(1, "a", before=9.0),)), 0.0, 99.0, 9, "", id="never-began"),
        pytest.param(
            RunLog(began=10.0, lines=FIXED, repeated=(every(4, "tick"),)),
            0.0,
            14.0,
            9,
            "up tick down tick",
            id="merged",
        ),
    ],
)
def test_lines(log: RunLog, since: float, until: float, count: int, expected: str) -> None:
    found = lines_of(log, since=since, until=until, count_max=count)
    assert " ".join(line.text for line in found) == expected


@pytest.mark.parametrize(
    ("log", "after", "expected"),
    [
        pytest.param(RunLog(began=10.0, lines=FIXED), 10.0, 14.0, id="fixed"),
        pytest.param(RunLog(began=10.0, lines=FIXED), 14.0, None, id="no-more"),
        pytest.param(RunLog(began=10.0, repeated=(every(3, "a"),)), 16.0, 19.0, id="repeated"),
        pytest.param(RunLog(began=10.0, repeated=(every(3, "a"),)), 2.0, 10.0, id="first"),
        pytest.param(RunLog(began=10.0, repeated=(every(3, "a", before=19.0),)), 16.0, None, id="stopped"),
        pytest.param(RunLog(began=10.0, ended=18.0, repeated=(every(3, "a"),)), 16.0, None, id="ended"),
    ],
)
def test_next_line(log: RunLog, after: float, expected: float | None) -> None:
    assert next_line_at(log, after) == expected
