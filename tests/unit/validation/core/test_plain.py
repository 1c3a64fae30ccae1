"""Kinds of which little is checked."""

from typing import Any

from doorman.validation.context import Context
from doorman.validation.core.plain import CONFIG_MAP, RESOURCE_QUOTA, SECRET
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


def test_quota_amounts_are_not_negative() -> None:
    doc = named(spec={"hard": {"pods": "-1"}})
    assert [error.field for error in RESOURCE_QUOTA.create(doc, Context())] == ["spec.hard[pods]"]


def test_secret_text_becomes_data() -> None:
    doc = named(data={"a": "eA=="}, stringData={"b": "x"})
    default_secret(doc)
    assert doc["data"] == {"a": "eA==", "b": "eA=="}
    assert "stringData" not in doc
