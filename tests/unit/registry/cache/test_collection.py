"""One kind's objects: in order of keys, by index, and as a stream from where a reader was."""

from typing import Any

import pytest

from doorman.api.machinery.field_selectors import FieldTerm
from doorman.api.views.meta import view_decoder
from doorman.api.views.pods import Pod
from doorman.registry.cache.collection import Collection, TooOld
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored, Unreadable, to_kept_bytes
from doorman.registry.cache.streams import CacheChange, EventType
from doorman.store.store_contract import Entry

DECODE = view_decoder(Pod)


def stored(key: str, revision: int, node: str = "") -> Stored:
    namespace, name = key.split("/")
    doc: dict[str, Any] = {"metadata": {"namespace": namespace, "name": name}, "spec": {"nodeName": node}}
    return Stored(Entry(f"pods/{key}", to_kept_bytes(doc), revision, revision), key, DECODE)


def put(pods: Collection, key: str, revision: int, node: str = "") -> None:
    pods.apply(CacheChange(revision, pods.get(key), stored(key, revision, node)))


@pytest.fixture
def pods() -> Collection:
    pods = Collection("pods", DECODE, 0)
    for revision, (key, node) in enumerate((("b/y", "n1"), ("a/x", "n1"), ("b/x", "n2")), start=1):
        put(pods, key, revision, node)
    return pods


def keys(found: Any) -> list[str]:
    return [one.key for one in found]


def test_objects_come_in_order_of_keys(pods: Collection) -> None:
    assert keys(pods.select(Selection(storage="pods"))) == ["a/x", "b/x", "b/y"]
    assert keys(pods.select(Selection(storage="pods", namespace="b"))) == ["b/x", "b/y"]


def test_pods_of_a_node_follow_those_that_move(pods: Collection) -> None:
    on_first = Selection(storage="pods", fields=(FieldTerm("spec.nodeName", "n1", True),))
    assert keys(pods.select(on_first)) == ["a/x", "b/y"]
    put(pods, "b/y", 4, "n2")
    pods.apply(CacheChange(5, pods.get("a/x"), None))
    assert keys(pods.select(on_first)) == []


def test_stream_begins_where_its_reader_was(pods: Collection) -> None:
    stream = pods.follow(Selection(storage="pods"), 1)
    put(pods, "c/z", 4)
    assert [(one.type, one.object.key) for one in stream.take()] == [
        (EventType.ADDED, "a/x"), (EventType.ADDED, "b/x"), (EventType.ADDED, "c/z")
    ]  # fmt: skip


def test_reader_from_before_what_is_kept_is_told(pods: Collection) -> None:
    pods.clear(10)
    with pytest.raises(TooOld) as error:
        pods.follow(Selection(storage="pods"), 3)
    assert error.value.oldest == 10
    assert keys(pods.select(Selection(storage="pods"))) == []


def test_object_that_cannot_be_read_is_set_aside() -> None:
    pods = Collection("pods", DECODE, 0)
    pods.load(Stored(Entry("pods/a/x", b"no object", 1, 1), "a/x", DECODE))
    assert keys(pods.select(Selection(storage="pods"))) == []
    assert list(pods.aside) == ["a/x"]


def test_version_that_is_overtaken_must_be_json_where_others_write(pods: Collection) -> None:
    before, cut = pods.get("a/x"), Stored(Entry("pods/a/x", b'"name":"x"}', 9, 2), "a/x", DECODE)
    with pytest.raises(Unreadable):
        pods.check(cut, before, is_doubtful=True, is_overtaken=True)
    odd = Stored(Entry("pods/a/x", b'"name":5}}', 9, 2), "a/x", DECODE)
    pods.check(odd, before, is_doubtful=True, is_overtaken=True)
    assert odd.base is before, "what follows it is compared with the last that somebody looked at"
    with pytest.raises(Unreadable):
        pods.check(odd, before, is_doubtful=True)


def test_pods_that_nobody_looks_at_are_checked_and_keep_no_view(pods: Collection) -> None:
    """They are still found by their node, whenever that is asked first."""
    new = stored("a/x", 4, "n3")
    pods.check(new, pods.get("a/x"), is_doubtful=True)
    pods.apply(CacheChange(4, pods.get("a/x"), new))
    assert new._view is None
    damaged = Stored(Entry("pods/a/w", b'"name":1}', 5, 5), "a/w", DECODE)
    with pytest.raises(Unreadable):
        pods.check(damaged, None, is_doubtful=True)
    on_third = Selection(storage="pods", fields=(FieldTerm("spec.nodeName", "n3", True),))
    assert keys(pods.select(on_third)) == ["a/x"]
    following = stored("a/x", 6, "n4")
    pods.check(following, pods.get("a/x"), is_doubtful=True)
    pods.apply(CacheChange(6, pods.get("a/x"), following))
    assert keys(pods.select(on_third)) == []
    pods.clear(6)
    assert keys(pods.select(on_third)) == []
