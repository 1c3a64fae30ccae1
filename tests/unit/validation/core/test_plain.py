"""Kinds of which little is checked."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.core.plain import CONFIG_MAP, SECRET
from doorman.validation.defaults import default_secret


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def named(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "uid": "u"}, **fields}


FROZEN = "Forbidden: field is immutable when `immutable` is set"


def test_config_map_keys_and_immutability() -> None:
    assert CONFIG_MAP.create(named(data={"a.b": "c"}), Context()) == []
    assert [error.field for error in CONFIG_MAP.create(named(data={"a b": "c"}), Context())] == ["data[a b]"]
    both = named(data={"k": "v"}, binaryData={"k": "dg=="})
    assert texts(CONFIG_MAP.create(both, Context())) == [
        'data: Invalid value: "k": duplicate of key present in binaryData'
    ]
    old = named(data={"k": "v"}, immutable=True)
    assert texts(CONFIG_MAP.update(named(data={"k": "w"}), old, Context())) == [
        f"immutable: {FROZEN}",
        f"data: {FROZEN}",
    ]


def test_secret_type_stays() -> None:
    assert texts(SECRET.update(named(type="b"), named(type="a"), Context())) == [
        'type: Invalid value: "b": field is immutable'
    ]


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        pytest.param({"type": "Opaque"}, [], id="opaque"),
        pytest.param(
            {"type": "kubernetes.io/service-account-token"},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            id="token-without-account",
        ),
        pytest.param(
            {"type": "kubernetes.io/tls", "data": {"tls.crt": "Yg=="}}, ["data[tls.key]: Required value"], id="tls"
        ),
        pytest.param(
            {"type": "kubernetes.io/basic-auth"},
            ["data[username]: Required value", "data[password]: Required value"],
            id="basic-auth",
        ),
        pytest.param({"type": "kubernetes.io/ssh-auth"}, ["data[ssh-privatekey]: Required value"], id="ssh"),
        pytest.param(
            {"type": "kubernetes.io/dockercfg"}, ["data[.dockercfg]: Required value"], id="docker-without-key"
        ),
        pytest.param(
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "http"}},
            [
                'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
                "invalid character '\\u0086' looking for beginning of value"
            ],
            id="docker-no-json",
        ),
        pytest.param(
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "W10="}},
            [
                'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
                "json: cannot unmarshal array into Go value of type map[string]interface {}"
            ],
            id="docker-no-object",
        ),
    ],
)
def test_secret_of_a_type_holds_what_its_readers_need(secret: dict[str, Any], expected: list[str]) -> None:
    assert texts(SECRET.create(named(**secret), Context())) == expected


def test_secret_text_becomes_data() -> None:
    doc = named(data={"a": "eA=="}, stringData={"b": "x"})
    default_secret(doc)
    assert doc["data"] == {"a": "eA==", "b": "eA=="}
    assert "stringData" not in doc
