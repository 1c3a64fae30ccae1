"""Checks every store must pass. A test module of a backend derives from this class and gives a `store` fixture."""

import asyncio

import pytest

from doorman.store.store_contract import ABSENT, Compacted, Conflict, Store, Write


class StoreSuite:
    async def test_create_takes_the_next_revision_and_is_there(self, store: Store) -> None:
        before = store.revision
        event = await store.commit(Write("pods/a", b"1", ABSENT))
        assert event.revision == before + 1
        assert store.revision == before + 1
        assert event.previous is None
        found = store.peek("pods/a")
        assert found is not None
        assert (found.value, found.revision, found.created) == (b"1", before + 1, before + 1)

    async def test_create_of_a_key_that_exists_conflicts_and_changes_nothing(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        with pytest.raises(Conflict) as lost:
            await store.commit(Write("pods/a", b"2", ABSENT))
        assert lost.value.current == first.entry
        assert store.revision == first.revision

    async def test_update_at_the_expected_revision_keeps_the_creation(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        second = await store.commit(Write("pods/a", b"2", first.revision))
        assert second.entry is not None
        assert second.entry.created == first.revision
        assert second.previous == first.entry

    async def test_update_at_another_revision_conflicts(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        with pytest.raises(Conflict):
            await store.commit(Write("pods/a", b"2", first.revision + 1))

    async def test_delete_takes_a_revision_and_the_key_is_gone(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        gone = await store.commit(Write("pods/a", None, first.revision))
        assert gone.revision == first.revision + 1
        assert gone.entry is None
        assert store.peek("pods/a") is None
        assert list(store.entries()) == []

    async def test_delete_of_an_absent_key_conflicts(self, store: Store) -> None:
        with pytest.raises(Conflict):
            await store.commit(Write("pods/a", None, ABSENT))

    async def test_events_after_are_ordered_unique_and_without_gaps(self, store: Store) -> None:
        start = store.revision
        await asyncio.gather(*(store.commit(Write(f"pods/{i:03d}", b"x", ABSENT)) for i in range(100)))
        events = store.events_after(start)
        assert [event.revision for event in events] == list(range(start + 1, start + 101))
        assert list(store.events_after(start + 60)) == list(events[60:])
        assert list(store.events_after(start + 100)) == []

    async def test_writes_committed_together_follow_each_other(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        events = await store.commit_all([Write("pods/b", b"2", ABSENT), Write("pods/a", None, first.revision)])
        assert sorted(event.revision for event in events) == [first.revision + 1, first.revision + 2]
        assert [event.key for event in events] == ["pods/b", "pods/a"]
        assert [entry.key for entry in store.entries()] == ["pods/b"]
        assert sorted(store.events_after(first.revision), key=lambda event: event.key) == sorted(
            events, key=lambda event: event.key
        )

    async def test_writes_beside_another_are_taken_with_it_or_none_is(self, store: Store) -> None:
        there = await store.commit(Write("pods/a", b"1", ABSENT))
        event = await store.commit_with(Write("pods/b", b"2", ABSENT), [Write("pods/a", b"2", there.revision)])
        assert (event.key, event.entry) == ("pods/b", store.peek("pods/b"))
        beside = store.peek("pods/a")
        assert beside is not None
        assert (beside.value, beside.created) == (b"2", there.revision)
        assert {one.key for one in store.events_after(there.revision)} == {"pods/a", "pods/b"}
        revision = store.revision
        with pytest.raises(Conflict) as overtaken:
            await store.commit_with(Write("pods/c", b"3", ABSENT), [Write("pods/a", b"3", there.revision)])
        assert overtaken.value.key == "pods/a"
        with pytest.raises(Conflict) as lost:
            await store.commit_with(Write("pods/b", b"3", ABSENT), [Write("pods/a", b"3", beside.revision)])
        assert (lost.value.key, lost.value.current) == ("pods/b", event.entry)
        assert store.revision == revision
        assert store.peek("pods/c") is None

    async def test_wakers_are_called_when_events_can_be_read(self, store: Store) -> None:
        seen: list[int] = []
        store.add_waker(lambda: seen.append(store.revision))
        event = await store.commit(Write("pods/a", b"1", ABSENT))
        assert seen == [event.revision]

    async def test_reader_that_raises_reaches_neither_the_writer_nor_other_readers(self, store: Store) -> None:
        woken: list[int] = []

        def broken() -> None:
            raise KeyError("type")

        store.add_waker(broken)
        store.add_waker(lambda: woken.append(store.revision))
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        await store.commit(Write("pods/b", b"1", ABSENT))
        assert woken == [first.revision, first.revision + 1]
        assert store.is_well
        assert store.faults.counts == {"waker": 2}

    async def test_entries_come_in_order_of_keys(self, store: Store) -> None:
        for key in ("b", "a", "c"):
            await store.commit(Write(f"pods/{key}", b"", ABSENT))
        assert [entry.key for entry in store.entries()] == ["pods/a", "pods/b", "pods/c"]

    async def test_events_that_are_no_longer_kept_are_refused(self, small_history_store: Store) -> None:
        store = small_history_store
        start, revision = store.revision, ABSENT
        for _ in range(10):
            revision = (await store.commit(Write("pods/a", b"1", revision))).revision
        with pytest.raises(Compacted):
            store.events_after(start + 1)
        assert len(store.events_after(revision - 2)) == 2

    async def test_write_that_is_taken_is_there_for_the_next_one_which_waits_for_both(self, store: Store) -> None:
        before = store.revision
        first = await store.take(Write("pods/a", b"1", ABSENT))
        assert store.peek("pods/a") == first.entry
        second = await store.commit(Write("pods/a", b"2", first.revision))
        assert [event.revision for event in store.events_after(before)] == [first.revision, second.revision]
        assert second.previous == first.entry

    async def test_taken_write_conflicts_as_any_other(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        with pytest.raises(Conflict):
            await store.take(Write("pods/a", b"2", ABSENT))
        assert store.revision == first.revision


class LocalStoreSuite(StoreSuite):
    """What is true besides where nobody else writes."""

    async def test_one_conflict_of_writes_committed_together_stops_all(self, store: Store) -> None:
        first = await store.commit(Write("pods/a", b"1", ABSENT))
        with pytest.raises(Conflict):
            await store.commit_all([Write("pods/b", b"2", ABSENT), Write("pods/a", b"2", ABSENT)])
        assert store.peek("pods/b") is None
        assert store.revision == first.revision
        assert list(await store.commit_all([])) == []
