"""The book of the embedded stores: appended writes are seen by writers at once, by readers when published."""

import pytest

from doorman.store.key_index import KeyIndex
from doorman.store.store_contract import ABSENT, Conflict, Write


def test_appended_write_is_newest_but_not_published() -> None:
    ledger = KeyIndex()
    event = ledger.append(Write("a", b"1", ABSENT))
    assert ledger.newest["a"] == event.entry
    assert list(ledger.entries()) == []
    assert ledger.revision == 0
    ledger.publish([event])
    assert [entry.key for entry in ledger.entries()] == ["a"]
    assert ledger.revision == 1


def test_second_writer_conflicts_with_a_write_that_is_not_published() -> None:
    ledger = KeyIndex()
    ledger.append(Write("a", b"1", ABSENT))
    with pytest.raises(Conflict):
        ledger.append(Write("a", b"2", ABSENT))


def test_publishing_with_a_gap_is_a_bug() -> None:
    ledger = KeyIndex()
    ledger.append(Write("a", b"1", ABSENT))
    second = ledger.append(Write("b", b"1", ABSENT))
    with pytest.raises(AssertionError, match="in order"):
        ledger.publish([second])


def test_history_is_bounded_by_bytes() -> None:
    ledger = KeyIndex(history_bytes_max=250)
    revision = ABSENT
    for _ in range(5):
        event = ledger.append(Write("a", b"x" * 100, revision))
        revision = event.revision
        ledger.publish([event])
    assert ledger.oldest == 3
    assert len(ledger.events_after(3)) == 2


def test_whoever_follows_sees_a_group_that_is_larger_than_what_is_kept() -> None:
    ledger = KeyIndex(history_events_max=3)
    seen: list[int] = []
    ledger.add_waker(lambda: seen.extend(event.revision for event in ledger.events_after(len(seen))))
    events = [ledger.append(Write(f"k{number}", b"v", ABSENT)) for number in range(10)]
    ledger.publish(events)
    assert seen == list(range(1, 11))
    assert ledger.oldest == 7
