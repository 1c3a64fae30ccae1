"""The book of the embedded stores: appended writes are seen by writers at once, by readers when published."""

import pytest

from doorman.store.key_index import KeyIndex
from doorman.store.store_contract import ABSENT, Conflict, Write


def test_appended_write_is_newest_but_not_published() -> None:
    index = KeyIndex()
    event = index.append(Write("a", b"1", ABSENT))
    assert index.newest["a"] == event.entry
    assert list(index.entries()) == []
    assert index.revision == 0
    index.publish([event])
    assert [entry.key for entry in index.entries()] == ["a"]
    assert index.revision == 1


def test_second_writer_conflicts_with_a_write_that_is_not_published() -> None:
    index = KeyIndex()
    index.append(Write("a", b"1", ABSENT))
    with pytest.raises(Conflict):
        index.append(Write("a", b"2", ABSENT))


def test_publishing_with_a_gap_is_a_bug() -> None:
    index = KeyIndex()
    index.append(Write("a", b"1", ABSENT))
    second = index.append(Write("b", b"1", ABSENT))
    with pytest.raises(AssertionError, match="in order"):
        index.publish([second])


def test_history_is_bounded_by_bytes() -> None:
    index = KeyIndex(history_bytes_max=250)
    revision = ABSENT
    for _ in range(5):
        event = index.append(Write("a", b"x" * 100, revision))
        revision = event.revision
        index.publish([event])
    assert index.oldest == 3
    assert len(index.events_after(3)) == 2


def test_whoever_follows_sees_a_group_that_is_larger_than_what_is_kept() -> None:
    index = KeyIndex(history_events_max=3)
    seen: list[int] = []
    index.add_waker(lambda: seen.extend(event.revision for event in index.events_after(len(seen))))
    events = [index.append(Write(f"k{number}", b"v", ABSENT)) for number in range(10)]
    index.publish(events)
    assert seen == list(range(1, 11))
    assert index.oldest == 7
