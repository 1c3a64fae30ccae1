"""A list at a past revision is what was there then, page by page, whatever happened since."""

import random

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.views.meta import Object
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.past_views import PAST_VIEWS_MAX
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.streams import CacheChange
from doorman.store.store_contract import Entry

DECODE = msgspec.json.Decoder(Object).decode


def history(rng: random.Random) -> tuple[Collection, dict[int, dict[str, int]]]:
    """A collection after random writes, and what it held at each revision."""
    collection = Collection("configmaps", DECODE, 0)
    held: dict[str, int] = {}
    past = {0: dict(held)}
    for revision in range(1, rng.randrange(60) + 1):
        key = f"{rng.choice('ab')}/{rng.randrange(8)}"
        old = collection.get(key)
        if old is not None and rng.random() < 0.4:
            new = None
            del held[key]
        else:
            new = Stored(Entry(key, b'"name":"x"}}', revision, revision), key, DECODE)
            held[key] = revision
        collection.apply(CacheChange(revision, old, new))
        past[revision] = dict(held)
    return collection, past


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), namespace=st.sampled_from(["", "a", "b"]), after=st.sampled_from(["", "a/3", "b/2"]))
def test_list_at_a_revision_is_what_was_there(seed: int, namespace: str, after: str) -> None:
    rng = random.Random(seed)
    collection, past = history(rng)
    selection = Selection(storage="configmaps", namespace=namespace)
    revision = rng.choice(sorted(past))
    inside = [
        (key, at) for key, at in sorted(past[revision].items()) if (not namespace or key.startswith(f"{namespace}/"))
    ]
    wanted = [(key, at) for key, at in inside if key > after]
    found = [(stored.key, stored.revision) for stored in collection.select_at(selection, revision, after=after)]
    assert found == wanted
    assert collection.count_after(selection, after, revision) == len(wanted)


def test_views_of_versions_past_are_kept_for_a_while_and_not_for_ever() -> None:
    collection = Collection("configmaps", DECODE, 0)
    collection.follow(Selection(storage="configmaps"), None)
    versions: list[Stored] = []
    for revision in range(1, PAST_VIEWS_MAX + 10):
        new = Stored(Entry("a/b", b'"name":"x"}}', revision, 1), "a/b", DECODE)
        collection.apply(CacheChange(revision, versions[-1] if versions else None, new))
        assert new.view is not None
        versions.append(new)
    kept = [version.revision for version in versions if version._view is not None]
    assert kept == list(range(len(versions) - PAST_VIEWS_MAX, len(versions) + 1))


def test_views_of_versions_past_that_nobody_follows_are_not_kept() -> None:
    collection = Collection("configmaps", DECODE, 0)
    looked_at, overtaken, newest = (
        Stored(Entry("a/b", b'"name":"x"}}', revision, 1), "a/b", DECODE) for revision in (1, 2, 3)
    )
    assert looked_at.view is not None
    overtaken.base = looked_at
    collection.apply(CacheChange(1, None, looked_at))
    collection.apply(CacheChange(2, looked_at, overtaken))
    assert looked_at._view is not None, "the next version is read upon it"
    collection.apply(CacheChange(3, overtaken, newest))
    assert (looked_at._view, overtaken.base) == (None, None)
