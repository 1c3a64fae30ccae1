"""Bodies of Go clients, byte by byte."""

import base64
from typing import Any

import pytest

from doorman.api.kinds import data_file
from doorman.server.codec.protobuf import _SPECIAL, MAGIC, ProtobufError, decode_protobuf


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while True:
        low, number = number & 0x7F, number >> 7
        out += bytes((low | (0x80 if number else 0),))
        if not number:
            return out


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    head = field(1, api_version) + field(2, kind)
    return MAGIC + field(1, head) + field(2, raw) + field(3, "") + field(4, "")


def metadata(name: str) -> bytes:
    empty_time = field(8, b"")  # Go always writes creationTimestamp
    return field(1, name) + field(2, "") + empty_time


def decoded(api_version: str, kind: str, raw: bytes) -> Any:
    return decode_protobuf(body(api_version, kind, raw))


def test_pod_with_a_toleration() -> None:
    toleration = field(1, "k") + field(2, "Exists") + field(3, "") + field(4, "NoExecute") + field(5, 60)
    spec = field(22, toleration)
    found = decoded("v1", "Pod", field(1, metadata("p")) + field(2, spec))
    assert (found["apiVersion"], found["kind"], found["metadata"]["name"]) == ("v1", "Pod", "p")
    assert found["spec"]["tolerations"] == [
        {"key": "k", "operator": "Exists", "value": "", "effect": "NoExecute", "tolerationSeconds": 60}
    ]
    assert found["metadata"]["creationTimestamp"] is None, "an empty time is no time"


def test_map_and_bytes() -> None:
    entry = field(1, "a") + field(2, "b")
    assert decoded("v1", "ConfigMap", field(1, metadata("c")) + field(2, entry))["data"] == {"a": "b"}
    secret = field(1, "k") + field(2, b"\x00\x01")
    assert decoded("v1", "Secret", field(2, secret))["data"] == {"k": base64.b64encode(b"\x00\x01").decode()}


def test_negative_number_is_ten_bytes() -> None:
    assert decoded("apps/v1", "DeleteOptions", field(1, -1))["gracePeriodSeconds"] == -1


def test_options_travel_under_any_group_version() -> None:
    found = decoded("apps/v1", "DeleteOptions", field(1, 0) + field(4, "Background"))
    assert (found["gracePeriodSeconds"], found["propagationPolicy"]) == (0, "Background")


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        pytest.param(b"", "expected prefix", id="empty"),
        pytest.param(b"k8s\x01", "expected prefix", id="other-prefix"),
        pytest.param(body("v1", "Nothing", b""), 'no kind "Nothing" is registered', id="kind"),
        pytest.param(body("v9", "Pod", b""), 'no kind "Pod" is registered', id="version"),
        pytest.param(body("v1", "Pod", b"\xff\xff"), "proto:", id="no-message"),
        pytest.param(MAGIC + b"\x0a\xff", "proto:", id="cut-envelope"),
        pytest.param(body("v1", "Pod", field(1, field(8, field(1, 2**62)))), "proto:", id="a-time-beyond-the-calendar"),
        pytest.param(
            body("v1", "Pod", field(1, field(17, field(7, field(1, b"{nonsense"))))), "proto:", id="no-json-inside"
        ),
    ],
)
def test_what_is_refused(raw: bytes, fault: str) -> None:
    with pytest.raises(ProtobufError, match=fault):
        decode_protobuf(raw)


def schema_of(raw: bytes) -> Any:
    """What becomes of a schema in the first version of a CustomResourceDefinition."""
    version = field(1, "v1") + field(4, field(1, raw))
    doc = decoded("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))
    return doc["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(field(2, "s") + field(3, "r"), {"$schema": "s", "$ref": "r"}, id="names-with-a-dollar"),
        pytest.param(field(38, 1), {"x-kubernetes-preserve-unknown-fields": True}, id="preserve-unknown-fields"),
        pytest.param(field(41, "name"), {"x-kubernetes-list-map-keys": ["name"]}, id="list-map-keys"),
        pytest.param(field(24, field(1, field(5, "string"))), {"items": {"type": "string"}}, id="items"),
        pytest.param(
            field(24, field(2, field(5, "string")) + field(2, field(5, "integer"))),
            {"items": [{"type": "string"}, {"type": "integer"}]},
            id="items-each",
        ),
        pytest.param(field(30, field(1, 1)), {"additionalProperties": True}, id="additional-properties"),
        pytest.param(field(30, field(1, 0)), {"additionalProperties": False}, id="no-additional-properties"),
        pytest.param(
            field(30, field(1, 1) + field(2, field(5, "string"))),
            {"additionalProperties": {"type": "string"}},
            id="additional-properties-of-a-type",
        ),
        pytest.param(
            field(32, field(1, "a") + field(2, field(2, "b"))),
            {"dependencies": {"a": ["b"]}},
            id="dependencies-by-name",
        ),
        pytest.param(field(8, field(1, b'{"a":1}')), {"default": {"a": 1}}, id="default"),
        pytest.param(field(20, field(1, b'"x"')), {"enum": ["x"]}, id="enum"),
        pytest.param(
            field(44, field(1, "self.a > 0")), {"x-kubernetes-validations": [{"rule": "self.a > 0"}]}, id="rules"
        ),
    ],
)
def test_schema_of_a_definition_has_its_json_names(raw: bytes, expected: Any) -> None:
    assert schema_of(raw) == expected


def test_every_message_has_the_json_names_of_its_type() -> None:
    """But for members that JSON has inline, and wrappers that are something else in JSON."""
    table, types = data_file("protobuf.json"), data_file("types.json")
    wrappers = {*_SPECIAL, *table["jsonArrayWrappers"]}
    strange = [
        f"{name}.{member}"
        for name, members in table["messages"].items()
        if name in types and name not in wrappers
        for _, member, _ in members
        if member not in types[name].get("fields", {}) and member not in ("kind", "apiVersion")
    ]
    assert sorted(set(strange) - set(table["inline"])) == []
