"""Kinds of which little is checked."""

from typing import Any

from doorman.validation.context import Context
from doorman.validation.plain import CONFIG_MAP, RESOURCE_QUOTA, ROLE, ROLE_BINDING, SECRET, STORAGE_CLASS


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


def test_roles_are_named_by_path_segments_and_references_stay() -> None:
    system = {"metadata": {"name": "system:node", "uid": "u"}}
    assert ROLE.create(system, Context()) == []
    old, new = {**system, "roleRef": {"name": "a"}}, {**system, "roleRef": {"name": "b"}}
    assert texts(ROLE_BINDING.update(new, old, Context())) == [
        'roleRef: Invalid value: {"name":"b"}: cannot change roleRef'
    ]


def test_storage_class_parameters_stay() -> None:
    found = STORAGE_CLASS.update(named(parameters={"a": "b"}), named(), Context())
    assert [error.field for error in found] == ["parameters"]
