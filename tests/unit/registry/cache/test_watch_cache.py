"""All collections, fed from one store, and fed anew when the store does not know what came between."""

import pytest

from doorman.api.machinery.field_selectors import parse_field_selector
from doorman.api.views.pods import Pod
from doorman.registry.cache import watch_cache
from doorman.registry.cache.collection import TooOld
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.watch_cache import WatchCache
from doorman.store.key_index import KeyIndex
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Entry, StoreEvent, Write

MAPS = Selection(storage="configmaps")


def kept(name: str) -> bytes:
    return b'"name":"%s","namespace":"d"}}' % name.encode()


def entry(name: str, revision: int) -> Entry:
    return Entry(f"configmaps/d/{name}", kept(name), revision, revision)


async def test_writes_reach_the_collection_of_their_kind() -> None:
    store = MemoryStore()
    cache = WatchCache(store, {})
    event = await store.commit(Write("configmaps/d/a", kept("a"), ABSENT))
    assert [one.name for one in cache.collection("configmaps").select(MAPS)] == ["a"]
    assert list(cache.collection("secrets").select(Selection(storage="secrets"))) == []
    assert cache.revision == event.revision


def test_revisions_may_have_gaps_and_be_shared() -> None:
    index = KeyIndex()
    cache = WatchCache(MemoryStore(index), {})
    stream = cache.collection("configmaps").follow(MAPS, None)
    index.follow([StoreEvent(7, entry(name, 7).key, entry(name, 7), None) for name in "ab"], 7)
    index.follow([], 12)
    assert cache.revision == 12, "nothing of ours happened until then"
    index.follow([StoreEvent(20, entry("a", 7).key, None, entry("a", 7))], 20)
    assert [(one.object.name, one.object.revision) for one in stream.take()] == [("a", 7), ("b", 7), ("a", 20)]
    assert [event.revision for event in index.events_after(6)] == [7, 7, 20]
    assert [event.revision for event in index.events_after(7)] == [20]


def test_store_that_was_read_anew_ends_all_streams() -> None:
    index = KeyIndex()
    cache = WatchCache(MemoryStore(index), {})
    index.follow([StoreEvent(3, entry("a", 3).key, entry("a", 3), None)], 3)
    stream = cache.collection("configmaps").follow(MAPS, None)
    index.replace([entry("b", 9)], 10)
    assert stream.is_closed
    assert [one.name for one in cache.collection("configmaps").select(MAPS)] == ["b"]
    assert (cache.revision, cache.collection("configmaps").oldest) == (10, 10)


async def test_changes_of_all_kinds_together_are_kept_up_to_a_size_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_cache, "ALL_CHANGES_BYTES_MAX", 10_000)
    store = MemoryStore()
    cache = WatchCache(store, {})
    kinds = ("configmaps", "secrets", "services")
    for number in range(300):
        kind = kinds[0] if number < 5 else kinds[number % 3]
        value = b'"name":"%d","namespace":"d","x":"%s"}}' % (number, b"x" * (number % 7 * 100))
        await store.commit(Write(f"{kind}/d/{number}", value, ABSENT))
        held = sum(cache.collection(one).changes_bytes for one in kinds)
        assert held <= 10_000
        if number > 100:
            assert held > 8_000, "no more is forgotten than must be"
    oldest = [cache.collection(kind).oldest for kind in kinds]
    assert max(oldest) - min(oldest) <= 3, "whichever kind they are of"
    for kind in kinds:
        collection = cache.collection(kind)
        stream = collection.follow(Selection(storage=kind), collection.oldest)
        told = [one.object.revision for one in stream.take()]
        assert told == [revision for revision in range(collection.oldest + 1, 301) if kinds[(revision - 1) % 3] == kind]
        with pytest.raises(TooOld):
            collection.follow(Selection(storage=kind), collection.oldest - 1)


def pod(node: str, metadata: bytes = b"") -> bytes:
    return b'"name":"a","namespace":"d","uid":"u"%s},"spec":{"nodeName":"%s"},"status":{}}' % (metadata, node.encode())


@pytest.mark.parametrize("follows_a_node", [False, True])
def test_version_that_is_overtaken_is_told_and_filed_under_no_node(follows_a_node: bool) -> None:
    index = KeyIndex()
    cache = WatchCache(MemoryStore(index), {"pods": Pod})
    pods = cache.collection("pods")
    index.publish([index.append(Write("pods/d/a", pod(""), ABSENT))])
    stream = pods.follow(Selection(storage="pods"), None)
    on_node = [
        Selection(storage="pods", fields=parse_field_selector(f"spec.nodeName={node}")) for node in ("", "n", "m")
    ]
    if follows_a_node:
        pods.follow(on_node[1], None)
    marked = b',"deletionTimestamp":"2026-01-01T00:00:00Z"'
    versions = (pod("n"), pod("m", b',"labels":{"a":"b"}'), pod("m", marked))
    index.publish([index.append(Write("pods/d/a", value, at)) for at, value in enumerate(versions, 1)])
    assert [event.object.value for event in stream.take()] == list(versions)
    assert [[one.revision for one in pods.select(selection)] for selection in on_node] == [[], [], [4]]
    index.publish([index.append(Write("pods/d/a", pod("m"), 4)), index.append(Write("pods/d/a", None, 5))])
    assert [len(list(pods.select(selection))) for selection in on_node] == [0, 0, 0]
    assert [(event.type, event.object.revision) for event in stream.take()] == [("MODIFIED", 5), ("DELETED", 6)]


def test_version_is_overtaken_also_when_others_were_written_between() -> None:
    index = KeyIndex()
    cache = WatchCache(MemoryStore(index), {"pods": Pod})
    pods = cache.collection("pods")
    index.publish([index.append(Write("pods/d/a", pod(""), ABSENT))])
    stream = pods.follow(Selection(storage="pods"), None)
    writes = [
        Write("pods/d/a", pod("n"), 1),
        Write("pods/d/b", pod("n").replace(b'"a"', b'"b"'), ABSENT),
        Write("pods/d/a", pod("m"), 2),
    ]
    index.publish([index.append(write) for write in writes])
    told = [event.object for event in stream.take()]
    assert [(one.name, one.revision, one._view is not None) for one in told] == [
        ("a", 2, False), ("b", 3, True), ("a", 4, True),
    ]  # fmt: skip
    on_node = {
        node: [
            one.name
            for one in pods.select(
                Selection(storage="pods", fields=parse_field_selector(f"spec.nodeName={node}")),
            )
        ]
        for node in ("", "n", "m")
    }
    assert on_node == {"": [], "n": ["b"], "m": ["a"]}
