"""What an informer tells of when several changes have gathered, and what is read without one."""

import msgspec
import pytest

from doorman.api.views.meta import Object
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.streams import EventType, StreamEvent
from doorman.registry.cache.watch_cache import WatchCache
from doorman.runtime.in_process.watch_cache_informers import LiveLister, newest_of
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Entry, Write
from support.cluster import Story, run_story

decode = msgspec.json.Decoder(Object).decode


def event(word: str) -> StreamEvent:
    """`+a1`: a appears at revision 1; `~` it is changed, `-` it goes."""
    type_ = {"+": EventType.ADDED, "~": EventType.MODIFIED, "-": EventType.DELETED}[word[0]]
    return StreamEvent(type_, Stored(Entry("", b"{}", int(word[2:]), 1), word[1], decode))


@pytest.mark.parametrize(
    ("gathered", "told"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("+a1", "+a1", id="one"),
        pytest.param("~a1 ~a2 ~a3", "~a3", id="changed-thrice"),
        pytest.param("+a1 ~a2", "~a2", id="appeared-and-changed"),
        pytest.param("~a1 ~b2 ~a3 ~c4", "~b2 ~a3 ~c4", id="others-in-between"),
        pytest.param("~a1 ~a2 -a3", "~a2 -a3", id="changed-and-gone"),
        pytest.param("-a1 +a2 ~a3", "-a1 ~a3", id="gone-and-back"),
        pytest.param("~a1 -a2 +a3 -a4", "~a1 -a2 +a3 -a4", id="gone-twice"),
        pytest.param("+a1 +b2 -a3 ~b4 +a5", "+a1 -a3 ~b4 +a5", id="two"),
    ],
)
def test_newest_version_of_each_object_is_told(gathered: str, told: str) -> None:
    events = [event(word) for word in gathered.split()]
    expected = [one for one, word in zip(events, gathered.split(), strict=True) if word in told.split()]
    assert newest_of(events) == expected


async def test_live_lister_gives_what_is_in_a_namespace_in_order() -> None:
    store = MemoryStore()
    cache = WatchCache(store, {})
    for key in ("a/2", "b/1", "a/1", "aa/1"):
        namespace, _, name = key.partition("/")
        value = b'"name":"%s","namespace":"%s"}}' % (name.encode(), namespace.encode())
        await store.commit(Write(f"events/{key}", value, ABSENT))
    lister = LiveLister(cache, cache.collection("events"))
    found = [(one.metadata.namespace, one.metadata.name) for one in lister.by(BY_NAMESPACE, "a")]
    assert found == [("a", "1"), ("a", "2")]
    assert lister.by(BY_NAMESPACE, "c") == []


def test_nobody_follows_events() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p")
        assert cluster.cluster.cache.collection("events").objects
        assert cluster.cluster.cache.collection("events").stream_count == 0

    run_story(story)
