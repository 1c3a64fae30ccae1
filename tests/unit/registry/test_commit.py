"""The one compare-and-swap loop."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from doorman.api.identity import User
from doorman.api.kinds import builtin_kinds
from doorman.base.errors import ApiError
from doorman.registry.caller import Caller
from doorman.registry.commit import TRIES_MAX, CommitResult, Committer, Proposed, swap
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Conflict, Entry, StoreEvent, Write

KIND = builtin_kinds().named("configmaps")
CALLER = Caller(user=User(name="u"))
DRY = Caller(user=User(name="u"), dry_run=True)
KEY = "configmaps/ns/a"


def revision_of(store: MemoryStore) -> int:
    entry = store.peek(KEY)
    return entry.revision if entry is not None else ABSENT


async def test_proposal_is_written() -> None:
    store = MemoryStore()

    async def propose() -> Proposed:
        return Proposed(KEY, b"1", revision_of(store))

    committed = await Committer(store).commit(KIND, "a", propose, CALLER)
    assert committed.event is not None
    assert store.peek(KEY) == committed.event.entry


async def test_who_was_slower_proposes_again_upon_what_is_there() -> None:
    store = MemoryStore()
    seen: list[int] = []
    undone: list[int] = []

    async def propose() -> Proposed:
        seen.append(revision_of(store))
        if len(seen) == 1:
            await store.commit(Write(KEY, b"somebody else", ABSENT))
        return Proposed(KEY, b"mine", seen[-1], lambda: undone.append(len(seen)))

    await Committer(store).commit(KIND, "a", propose, CALLER)
    assert (seen, undone) == ([ABSENT, 1], [1])
    entry = store.peek(KEY)
    assert entry is not None
    assert entry.value == b"mine"


async def test_who_never_wins_is_told() -> None:
    store = MemoryStore()
    tries = 0

    async def propose() -> Proposed:
        nonlocal tries
        tries += 1
        return Proposed(KEY, b"x", 99)

    with pytest.raises(ApiError) as refused:
        await Committer(store).commit(KIND, "a", propose, CALLER)
    assert (refused.value.code, tries) == (409, TRIES_MAX)


async def test_loser_may_give_up() -> None:
    store = MemoryStore()
    await store.commit(Write(KEY, b"there", ABSENT))

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT)

    def lost(conflict: Conflict) -> None:
        raise ApiError(409, "AlreadyExists", "there") from conflict

    with pytest.raises(ApiError, match="there"):
        await Committer(store).commit(KIND, "a", propose, CALLER, on_conflict=lost)


async def test_dry_run_writes_nothing_and_gives_back_what_it_took() -> None:
    store = MemoryStore()
    undone: list[bool] = []

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT, lambda: undone.append(True))

    committed = await Committer(store).commit(KIND, "a", propose, DRY)
    assert isinstance(committed, CommitResult)
    assert (committed.event, undone, store.peek(KEY)) == (None, [True], None)


async def test_dry_run_meets_the_conflict_too() -> None:
    store = MemoryStore()
    await store.commit(Write(KEY, b"there", ABSENT))

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT)

    def lost(conflict: Conflict) -> None:
        raise ApiError(409, "AlreadyExists", "there") from conflict

    with pytest.raises(ApiError, match="there"):
        await Committer(store).commit(KIND, "a", propose, DRY, on_conflict=lost)


async def test_result_in_the_place_of_a_proposal_ends_it() -> None:
    async def propose() -> str:
        return "nothing to do"

    assert await Committer(MemoryStore()).commit(KIND, "a", propose, CALLER) == "nothing to do"


async def test_object_that_is_too_large_is_refused_and_undone() -> None:
    undone: list[bool] = []

    async def propose() -> Proposed:
        value = b'"name":"a"},"data":{"k":"' + b"x" * (2 * 1024 * 1024) + b'"}}'
        return Proposed(KEY, value, ABSENT, lambda: undone.append(True))

    with pytest.raises(ApiError, match=r"too large|larger than max"):
        await Committer(MemoryStore()).commit(KIND, "a", propose, CALLER)
    assert undone == [True]


class _Settling(MemoryStore):
    """Notes what was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.settled: list[str] = []

    async def refresh(self, key: str) -> Entry | None:
        self.settled.append(key)
        return await super().refresh(key)


async def test_nobody_is_refused_before_what_it_rests_on_is_durable() -> None:
    store = _Settling()
    await store.commit(Write(KEY, b"there", ABSENT))

    async def refuse() -> Proposed:
        raise ApiError(409, "Conflict", "another version")

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT)

    def lost(conflict: Conflict) -> None:
        raise ApiError(409, "AlreadyExists", "there") from conflict

    with pytest.raises(ApiError, match="another version"):
        await Committer(store).commit(KIND, "a", refuse, CALLER, key=KEY)
    assert store.settled == [KEY]
    with pytest.raises(ApiError, match="there"):
        await Committer(store).commit(KIND, "a", propose, CALLER, on_conflict=lost)
    assert store.settled == [KEY, KEY]


@pytest.mark.parametrize(("code", "is_given_back"), [(422, True), (500, False), (504, False)])
async def test_nothing_is_given_back_when_it_may_have_been_written(code: int, is_given_back: bool) -> None:
    class RefusingStore(MemoryStore):
        async def commit(self, write: Write) -> StoreEvent:
            raise ApiError(code, "", "no")

    undone: list[str] = []

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT, lambda: undone.append("undone"))

    with pytest.raises(ApiError):
        await Committer(RefusingStore()).commit(KIND, "a", propose, CALLER)
    assert bool(undone) is is_given_back


async def test_what_is_no_longer_needed_is_given_back_when_it_is_written() -> None:
    store = MemoryStore()
    steps: list[object] = []

    async def then() -> None:
        steps.append(store.peek(KEY) is not None)

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT, after_commit=then)

    await Committer(store).commit(KIND, "a", propose, CALLER)
    assert steps == [True]
    await Committer(MemoryStore()).commit(KIND, "a", propose, DRY)
    assert steps == [True], "a dry run gives nothing back"


async def test_value_that_is_no_object_is_decided_upon_what_is_there() -> None:
    store = MemoryStore()
    seen: list[bytes | None] = []

    async def decide(entry: Entry | None) -> bytes | None:
        seen.append(entry.value if entry is not None else None)
        if len(seen) == 1:
            await store.commit(Write("ranges/r", b"another's", ABSENT))
        return b"mine"

    event = await swap(store, "ranges/r", None, decide)
    assert event is not None
    assert (seen, event.entry.value) == ([None, b"another's"], b"mine")  # type: ignore[union-attr]  # it stays


async def test_value_that_needs_no_change_is_not_written() -> None:
    store = MemoryStore()

    async def decide(_: Entry | None) -> bytes | None:
        return None

    assert await swap(store, "ranges/r", None, decide) is None
    assert store.revision == 0


async def test_value_that_others_always_write_first_is_given_up() -> None:
    store = MemoryStore()
    tries = 0

    async def decide(entry: Entry | None) -> bytes | None:
        nonlocal tries
        tries += 1
        await store.commit(Write("ranges/r", b"%d" % tries, entry.revision if entry is not None else ABSENT))
        return b"mine"

    with pytest.raises(ApiError, match="all the time"):
        await swap(store, "ranges/r", None, decide)
    assert tries == TRIES_MAX


class _SharedStore(MemoryStore):
    """Notes which writes were waited for until they were published."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for: list[bool] = []

    @property
    def is_shared(self) -> bool:
        return True

    async def commit(self, write: Write) -> StoreEvent:
        self.waited_for.append(True)
        return await super().commit(write)

    async def take(self, write: Write) -> StoreEvent:
        self.waited_for.append(False)
        return await super().commit(write)


@pytest.mark.parametrize(
    ("resource", "sent", "is_waited_for"),
    [
        pytest.param("pods", ("application/json", "", b"{}"), False, id="pod-of-a-client"),
        pytest.param("nodes", ("application/json", "", b"{}"), False, id="node-of-a-client"),
        pytest.param("namespaces", ("application/json", "", b"{}"), True, id="what-requests-are-decided-by"),
        pytest.param("pods", None, True, id="pod-of-a-component"),
    ],
)
async def test_client_of_a_shared_store_is_answered_when_it_is_written(
    resource: str, sent: tuple[str, str, bytes] | None, is_waited_for: bool
) -> None:
    store = _SharedStore()
    kind = builtin_kinds().named(resource)

    async def propose() -> Proposed:
        return Proposed(f"{resource}/a", b"1", ABSENT)

    await Committer(store).commit(kind, "a", propose, Caller(user=User(name="u"), sent=sent))
    assert store.waited_for == [is_waited_for]


async def test_what_is_claimed_is_written_with_it_and_proposed_again_when_somebody_else_claimed() -> None:
    store = MemoryStore()
    quota = (await store.commit(Write("resourcequotas/ns/q", b"0", ABSENT))).revision
    undone: list[str] = []
    claimed: list[int] = []

    @asynccontextmanager
    async def claim() -> AsyncIterator[Sequence[Write]]:
        entry = store.peek("resourcequotas/ns/q")
        assert entry is not None
        if not claimed:
            await store.commit(Write(entry.key, b"another's", entry.revision))
        claimed.append(entry.revision)
        yield [Write(entry.key, b"mine", entry.revision)]

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT, lambda: undone.append("undone"), claim=claim)

    def lost(conflict: Conflict) -> None:
        raise AssertionError("nobody wrote the object")

    await Committer(store).commit(KIND, "a", propose, CALLER, on_conflict=lost)
    assert claimed == [quota, quota + 1]
    assert undone == ["undone"]
    written = store.peek("resourcequotas/ns/q")
    assert written is not None
    assert (written.value, revision_of(store) > ABSENT) == (b"mine", True)


@pytest.mark.parametrize(
    ("code", "fails_when", "is_given_back"),
    [
        pytest.param(504, "before", True, id="nothing-was-sent"),
        pytest.param(403, "before", True, id="no-room"),
        pytest.param(504, "after", False, id="it-may-have-been-written"),
    ],
)
async def test_what_was_taken_is_given_back_when_the_claim_fails_before_the_write(
    code: int, fails_when: str, is_given_back: bool
) -> None:
    undone: list[str] = []

    class FailingStore(MemoryStore):
        async def commit_with(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
            raise ApiError(code, "", "no")

    @asynccontextmanager
    async def claim() -> AsyncIterator[Sequence[Write]]:
        if fails_when == "before":
            raise ApiError(code, "", "no")
        yield []

    async def propose() -> Proposed:
        return Proposed(KEY, b"x", ABSENT, lambda: undone.append("undone"), claim=claim)

    with pytest.raises(ApiError):
        await Committer(FailingStore()).commit(KIND, "a", propose, CALLER)
    assert bool(undone) is is_given_back
