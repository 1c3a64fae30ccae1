"""Bodies as documents, and the faults only their text shows."""

from typing import Any

import pytest

from doorman.base.bounds import BODY_BYTES_MAX
from doorman.base.errors import ApiError
from doorman.server.bodies import BodyError, as_document, check_size, read_body, read_json, read_yaml


@pytest.mark.parametrize(
    ("text", "duplicates"),
    [
        pytest.param(b'{"a":1,"b":{"c":2}}', (), id="none"),
        pytest.param(b'{"a":1,"a":2}', ("a",), id="top"),
        pytest.param(b'{"a":[{"b":1},{"b":1,"b":2}]}', ("a[1].b",), id="in-a-list"),
        pytest.param(b'{"a":1,"a":2,"a":3}', ("a",), id="three-times-is-once"),
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
        pytest.param(b"nope", "invalid character 'n' looking for beginning of value", id="no-json"),
        pytest.param(b"[" * 200_000, "unexpected end|invalid character|depth", id="too-deep"),
        pytest.param(b"\xff", "invalid character in body", id="no-text"),
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
        pytest.param(b"5: a\ntrue: b\n", {"5": "a", "true": "b"}, id="keys-are-texts"),
        pytest.param(b'{"a": [1, 2]}', {"a": [1, 2]}, id="json-is-yaml"),
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
    ],
)
def test_yaml_that_is_not_taken(text: bytes) -> None:
    with pytest.raises(BodyError, match="error converting YAML to JSON"):
        read_yaml(text)


def test_yaml_names_members_that_occur_twice() -> None:
    assert read_yaml(b"a: 1\na: 2\n").duplicates == ("a",)


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


def test_size() -> None:
    check_size(BODY_BYTES_MAX)
    with pytest.raises(ApiError, match="limit is 3145728"):
        check_size(BODY_BYTES_MAX + 1)
