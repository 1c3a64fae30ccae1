"""Reading etcd where members cannot be asked how far a watch is, and where they can."""

from typing import Any, cast

import pytest

from doorman.store.etcd.etcd_messages import MESSAGES
from doorman.store.etcd.etcd_reader import EtcdReader, has_progress_requests
from doorman.store.store_contract import Entry, StoreEvent


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.4.23", False), ("3.4.31", True), ("3.5.1", False), ("3.5.12", False), ("3.5.13", True), ("3.6.0", True),
        ("3.7.0-alpha.0", True), ("4.0.0", True), ("", False),
    ],
)  # fmt: skip
def test_progress_is_asked_for_only_where_the_answer_can_be_trusted(version: str, expected: bool) -> None:
    assert has_progress_requests(version) is expected


class OneAnswer:
    """A client of members that have agreed upon a revision."""

    def __init__(self, cluster: int, revision: int) -> None:
        self._header = MESSAGES["ResponseHeader"](cluster_id=cluster, revision=revision)

    async def range(self, _key: bytes, *, limit: int) -> Any:
        return MESSAGES["RangeResponse"](header=self._header)


@pytest.mark.parametrize(
    ("created_at", "newest", "is_another"),
    [
        pytest.param((1, 10), (1, 12), False, id="goes-on-where-it-was"),
        pytest.param((1, 7), (1, 12), False, id="at-a-member-that-is-behind"),
        pytest.param((1, 7), (1, 10), False, id="at-one-that-is-behind-and-nothing-was-written-since"),
        pytest.param((1, 7), (1, 9), True, id="a-backup-was-restored"),
        pytest.param((1, 7), (2, 12), True, id="others-are-of-another-cluster"),
        pytest.param((2, 12), (2, 12), True, id="another-cluster"),
    ],
)
async def test_everything_is_read_anew_only_when_what_was_read_is_no_longer_so(
    created_at: tuple[int, int], newest: tuple[int, int], is_another: bool
) -> None:
    """Ten is the revision of what is known, of the cluster 1."""
    reader = EtcdReader(cast(Any, OneAnswer(*newest)), cast(Any, None), "/registry")
    reader._cluster_id = 1
    reader._index.revision = 10
    cluster, revision = created_at
    header = MESSAGES["ResponseHeader"](cluster_id=cluster, revision=revision)
    assert await reader._is_another(MESSAGES["WatchResponse"](created=True, header=header)) == is_another


def test_what_was_answered_and_is_not_published_is_pending_oldest_first() -> None:
    reader = EtcdReader(cast(Any, None), cast(Any, None), "/registry")
    before, after = Entry("pods/a", b"1", 4, 4), Entry("pods/a", b"2", 9, 4)
    new = Entry("pods/b", b"1", 8, 8)
    reader._index.follow([StoreEvent(4, "pods/a", before, None)], 5)
    reader._note("pods/a", 9, after)
    reader._note("pods/b", 8, new)
    assert list(reader.pending()) == [StoreEvent(8, "pods/b", new, None), StoreEvent(9, "pods/a", after, before)]
    reader._index.follow([StoreEvent(8, "pods/b", new, None)], 8)
    assert [event.key for event in reader.pending()] == ["pods/a"]
    reader._index.follow([StoreEvent(9, "pods/a", after, before)], 9)
    assert not list(reader.pending())
