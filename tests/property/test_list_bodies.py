"""A list is as long as it says, whatever is in it."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.registry.cache.stored_object import Stored
from doorman.server.codec import list_bodies
from doorman.server.codec.list_bodies import Form, ListBody, list_pieces
from doorman.server.codec.yaml_output import to_yaml
from doorman.store.store_contract import Entry

HEAD = b'{"items":['


@settings(deadline=None)
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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
HEADS = st.dictionaries(st.sampled_from(("kind", "apiVersion", "metadata")), JSON, min_size=1, max_size=3)


@settings(deadline=None)
@given(HEADS, st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=5))
def test_list_made_piece_by_piece_is_the_list_made_at_once(head: dict[str, Any], items: list[dict[str, Any]]) -> None:
    whole = {**head, "items": items}
    plain = msgspec.json.encode(whole)
    assert b"".join(list_pieces(head, "items", items, Form.COMPACT)) == plain
    indented = msgspec.json.format(plain, indent=2) + b"\n"
    assert b"".join(list_pieces(head, "items", items, Form.INDENTED)) == indented
    assert b"".join(list_pieces(head, "items", items, Form.YAML)) == to_yaml(whole)


@pytest.mark.parametrize("form", list(Form))
def test_long_list_is_made_while_it_is_read(form: Form) -> None:
    made = 0

    def items() -> Iterator[dict[str, Any]]:
        nonlocal made
        for _ in range(100):
            made += 1
            yield {"data": "x" * 10_000}

    pieces = list_pieces({"kind": "List"}, "items", items(), form)
    next(pieces)
    assert made < 10
    assert len(list(pieces)) > 10
