"""A list is as long as it says, whatever is in it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from doorman.registry.cache.stored_object import Stored
from doorman.server.codec import list_bodies
from doorman.server.codec.list_bodies import ListBody
from doorman.store.store_contract import Entry

HEAD = b'{"items":['


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 5000)), max_size=30),
    st.integers(1, 2000),
)
def test_length_is_told_before(objects: list[tuple[int, int]], piece_bytes: int) -> None:
    items = [
        Stored(Entry("", b'"name":"%s"}}' % (b"x" * size), revision, 0), "k", json.loads) for revision, size in objects
    ]
    usual, list_bodies.PIECE_BYTES = list_bodies.PIECE_BYTES, piece_bytes  # type: ignore[misc]  # smaller than usual
    try:
        body = ListBody(HEAD, items)
        whole = b"".join(body)
    finally:
        list_bodies.PIECE_BYTES = usual  # type: ignore[misc]
    assert len(whole) == body.length
    found = [item["metadata"] for item in json.loads(whole)["items"]]
    assert found == [{"resourceVersion": str(revision), "name": "x" * size} for revision, size in objects]
