"""Texts of members that only a driver or a controller understands: read, kept, compared, written."""

import copy
from typing import Any

import msgspec
import pytest

from doorman.api.kinds import builtin_kinds
from doorman.api.raw_members import (
    RAW_MEMBERS,
    RawObject,
    RawTexts,
    as_it_is,
    canonical,
    compact,
    raw_object,
    read_texts,
    text_of,
    to_written,
    without_texts,
)

REVISIONS = "controllerrevisions.apps"
CLASSES = "deviceclasses.resource.k8s.io"
SPACED = b'{ "b": 1.0, "a": "< \\u00e9" }'


def read(text: bytes, storage: str = REVISIONS) -> Any:
    doc = msgspec.json.decode(text)
    read_texts(storage, doc, text)
    return doc


def of_class(parameters: str) -> bytes:
    return b'{"metadata": {}, "spec": {"config": [{"opaque": {"parameters": %s}}, {}, null]}}' % parameters.encode()


def test_every_kind_that_has_such_members_is_served() -> None:
    assert {builtin_kinds().named(storage).storage for storage in RAW_MEMBERS} == set(RAW_MEMBERS)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param('{"a":1}', None, id="as it would be written: a dict"),
        pytest.param('{"a": 1}', '{"a": 1}', id="white space"),
        pytest.param('{"a":1e3}', '{"a":1e3}', id="a number written otherwise"),
        pytest.param('{"a":1,"a":2}', '{"a":1,"a":2}', id="a member twice"),
        pytest.param("[1, 2]", None, id="no object"),
        pytest.param('"x"', None, id="a string"),
    ],
)
def test_text_is_kept_where_it_says_more_than_the_value(text: str, kept: str | None) -> None:
    doc = read(of_class(text), CLASSES)
    found = doc["spec"]["config"][0]["opaque"]["parameters"]
    assert (found.text.decode() if isinstance(found, RawObject) else None) == kept
    written = msgspec.json.encode(to_written(CLASSES, doc))
    assert text.replace(" ", "" if kept is None else " ").encode() in written


def test_what_a_decoder_of_types_made_of_a_member_that_occurs_twice_is_left() -> None:
    doc = {"data": {"a": 1}}
    read_texts(REVISIONS, doc, b'{"data":{"a": 1}, "data":[2]}')
    read_texts(REVISIONS, doc, b'{"data":{"a": 1}, "data":{"b": 2}}')
    assert doc == {"data": {"a": 1}}
    read_texts(CLASSES, doc, b'{"data":{"parameters": 1}}')
    held = {"spec": {"config": [{"opaque": {"parameters": {"a": 1}}}]}}
    read_texts(CLASSES, held, b'{"spec":{"config":[]},"spec":{"config":{"parameters":1}}}')
    assert type(held["spec"]["config"][0]["opaque"]["parameters"]) is dict


def test_texts_are_compared_and_not_values() -> None:
    spaced, plain = read(b'{"data":{"a": 1}}'), read(b'{"data":{"a":1}}')
    assert spaced != plain
    assert plain != spaced
    assert spaced == read(b'{"data":{"a": 1}}')
    assert spaced == copy.deepcopy(spaced)
    assert spaced["data"] != 1
    assert without_texts(REVISIONS, spaced) == plain
    assert without_texts("pods", plain) is plain


def test_copies_have_the_text_too() -> None:
    spaced = read(b'{"data":{"a": 1}}')["data"]
    assert copy.deepcopy(spaced).text == copy.copy(spaced).text == b'{"a": 1}'


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param(compact, '{"b":1.0,"a":"\\u003c \\u00e9"}', id="as clients are shown it"),
        pytest.param(canonical, '{"a":"\\u003c é","b":1}', id="as Go writes a map"),
        pytest.param(as_it_is, SPACED.decode(), id="as it is"),
    ],
)
def test_text_after_a_patch_that_leaves_it_alone(change: Any, text: str) -> None:
    value = raw_object(msgspec.json.decode(SPACED), SPACED)
    after = RawTexts(REVISIONS, {"data": value}).after({"data": dict(value)}, change)
    assert text_of(after["data"]).decode() == text


def test_what_a_patch_changes_is_as_go_writes_it() -> None:
    texts = RawTexts(REVISIONS, {"data": raw_object({"b": 1}, b'{"b": 1}')})
    changed = texts.after({"data": {"c": 1, "b": 2**64}}, as_it_is)
    assert text_of(changed["data"]) == b'{"b":18446744073709552000,"c":1}'
    assert texts.after({"metadata": {}}, as_it_is) == {"metadata": {}}


def test_what_a_merge_patch_names_is_written_anew() -> None:
    doc = {"data": {"b": 1, "a": 2}}
    assert text_of(RawTexts(REVISIONS, doc, touched=doc).after(doc, compact)["data"]) == b'{"a":2,"b":1}'
    assert text_of(RawTexts(REVISIONS, doc, touched={"data": 1}).after(doc, compact)["data"]) == b'{"b":1,"a":2}'
