"""Bodies as documents, and the faults only their text shows."""

from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.server.codec.request_bodies import BodyError, as_document, read_body, read_json, read_yaml


@pytest.mark.parametrize(
    ("text", "duplicates"),
    [
        pytest.param(b'{"a":1,"b":{"c":2}}', (), id="none"),
        pytest.param(b'{"a":1,"a":2}', ('duplicate field "a"',), id="top"),
        pytest.param(b'{"a":[{"b":1},{"b":1,"b":2}]}', ('duplicate field "a[1].b"',), id="in-a-list"),
        pytest.param(b'{"a":1,"a":2,"a":3}', ('duplicate field "a"',), id="three-times-is-once"),
        pytest.param(b'{"a":{"b":1},"c":{"b":1}}', (), id="same-name-elsewhere"),
        pytest.param(rb'{"a":"\u0022","b":1}', (), id="an-escaped-quotation-mark"),
    ],
)
def test_members_that_occur_twice(text: bytes, duplicates: tuple[str, ...]) -> None:
    assert read_json(text).duplicates == duplicates


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(b"", "unexpected end of JSON input", id="empty"),
        pytest.param(b"{", "unexpected end of JSON input", id="cut"),
        pytest.param(b"nope", r"invalid character 'o' in literal null \(expecting 'u'\)", id="no-json"),
        pytest.param(b"[" * 200_000, "unexpected end|invalid character|depth", id="too-deep"),
        pytest.param(b"\xff", "invalid character in body", id="no-text"),
        pytest.param(b'{"a":"\xff"}', "invalid character in body", id="no-text-in-a-string"),
        pytest.param(rb'{"a":"\ud800"}', "invalid character in string", id="half-a-character"),
        pytest.param(b'{"a":' * 201 + b"1" + b"}" * 201, "exceeded max depth", id="one-too-deep"),
        pytest.param(b"1" * 5000, "too many digits", id="a-number-of-5000-digits"),
    ],
)
def test_what_cannot_be_read(text: bytes, fault: str) -> None:
    with pytest.raises(BodyError, match=fault):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(b"a: 2026-01-01\n", {"a": "2026-01-01"}, id="a-time-is-a-text"),
        pytest.param(b"a: yes\nb: 'yes'\n", {"a": True, "b": "yes"}, id="booleans"),
        pytest.param(b"a: y\nb: N\ny: c\n", {"a": True, "b": False, "true": "c"}, id="booleans-of-one-letter"),
        pytest.param(b"5: a\ntrue: b\n", {"5": "a", "true": "b"}, id="keys-are-texts"),
        pytest.param(b'{"a": [1, 2]}', {"a": [1, 2]}, id="json-is-yaml"),
        pytest.param(b"a: 0x1f\nb: 0o17\nc: 017\nd: 0b11\n", {"a": 31, "b": 15, "c": 15, "d": 3}, id="bases"),
        pytest.param(b"a: 1e3\nb: .5\nc: -1_000\n", {"a": 1000.0, "b": 0.5, "c": -1000}, id="numbers"),
        pytest.param(b"a: 1:30\nb: 1.2.3\nc: 1a\n", {"a": "1:30", "b": "1.2.3", "c": "1a"}, id="no-numbers"),
        pytest.param(b"a: " + b"9" * 20, {"a": 1e20}, id="beyond-64-bits-is-a-float"),
        pytest.param(b"a: " + b"9" * 5000, {"a": "9" * 5000}, id="beyond-a-float-is-a-text"),
        pytest.param(b"a:\nb: ~\nc: ''\n", {"a": None, "b": None, "c": ""}, id="nulls"),
        pytest.param(b"a: !!str 1\nb: !!int '1'\nc: !!float 1\n", {"a": "1", "b": 1, "c": 1.0}, id="tags"),
        pytest.param(b"a: !!binary aGk=\n", {"a": "hi"}, id="binary"),
        pytest.param(b"a:\n  <<: {b: 1, c: 2}\n  b: 3\n", {"a": {"b": 3, "c": 2}}, id="merge"),
        pytest.param(b"'<<': a\n", {"<<": "a"}, id="quoted-merge-is-a-key"),
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"- - 1\n  - []\n- {}\n", [[1, []], {}], id="lists"),
    ],
)
def test_yaml(text: bytes, value: Any) -> None:
    assert read_yaml(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a: &x [1]\nb: *x\n", id="alias"),
        pytest.param(b"a: !!python/object:os.system x\n", id="tag"),
        pytest.param(b"a: [", id="cut"),
        pytest.param(b"? [1]\n: a\n", id="list-as-key"),
        pytest.param(b"? {a: b}\n: a\n", id="map-as-key"),
        pytest.param(b"~: a\n", id="null-as-key"),
        pytest.param(b'a: "\\ud800"\n', id="half-a-character"),
        pytest.param(b"a: \xff\n", id="no-text"),
        pytest.param(b"[" * 400 + b"]" * 400, id="too-deep"),
        pytest.param(b"a: .inf\n", id="no-number-of-json"),
        pytest.param(b"a: !!int x\n", id="tag-does-not-fit"),
        pytest.param(b"a: !!map [1]\n", id="tag-of-another-collection"),
        pytest.param(b"a: !!binary '*'\n", id="no-base64"),
        pytest.param(b"a: 1\n---\nb: 1\n", id="two-documents"),
        pytest.param(b"<<: 1\n", id="merge-of-no-map"),
    ],
)
def test_yaml_that_is_not_taken(text: bytes) -> None:
    with pytest.raises(BodyError, match="yaml: "):
        read_yaml(text)


def test_yaml_names_members_that_occur_twice() -> None:
    assert read_yaml(b"a: 1\na: 2\n").duplicates == ('line 2: key "a" already set in map',)


def test_content_type_chooses_the_reader() -> None:
    assert read_body(b"{}", "").value == {}
    assert read_body(b"{}", "application/json; charset=utf-8").value == {}
    assert read_body(b"a: b", "application/yaml").value == {"a": "b"}
    with pytest.raises(BodyError, match="does not appear to be a protobuf message"):
        read_body(b"{}", "application/vnd.kubernetes.protobuf")
    with pytest.raises(ApiError) as caught:
        read_body(b"{}", "text/plain")
    assert caught.value.code == 415


def test_body_that_is_no_object_is_shown() -> None:
    with pytest.raises(ApiError, match=r"must be of type Pod.*cannot unmarshal array.*\(5b5d\)"):
        as_document(read_json(b"[]"), "Pod", b"[]")


def test_members_by_the_thousand_that_all_occur_twice_are_found_in_linear_time() -> None:
    """Quadratic time would be minutes here."""
    names = [f'"k{i}":1' for i in range(60_000)]
    assert len(read_json(("{" + ",".join(names * 2) + "}").encode()).duplicates) == 60_000
