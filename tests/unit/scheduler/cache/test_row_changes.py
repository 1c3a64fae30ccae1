"""What readers of a log of rows get."""

from doorman.scheduler.cache.row_changes import ENTRIES_MAX, RowChanges


def test_reader_gets_what_was_noted_since() -> None:
    log = RowChanges()
    log.note(3)
    position = log.end
    log.note(5)
    log.note(3)
    assert log.since(position) == [5, 3]
    assert log.since(log.end) == []


def test_reader_that_is_far_behind_is_told_so() -> None:
    log = RowChanges()
    for row in range(ENTRIES_MAX + 1):
        log.note(row)
    assert log.since(0) is None
    assert log.end == ENTRIES_MAX + 1
    assert log.since(ENTRIES_MAX) == [ENTRIES_MAX]
