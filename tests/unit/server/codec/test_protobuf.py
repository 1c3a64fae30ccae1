"""Bodies of Go clients, byte by byte."""

import base64
from typing import Any

import pytest

from doorman.server.codec.protobuf import MAGIC, ProtobufError, decode_protobuf


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
