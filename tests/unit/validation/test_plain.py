"""Kinds of which little is checked."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.defaults import default_service
from doorman.validation.plain import CONFIG_MAP, RESOURCE_QUOTA, ROLE, ROLE_BINDING, SECRET, SERVICE, STORAGE_CLASS


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


def service(**spec: Any) -> dict[str, Any]:
    doc = named(spec=spec)
    default_service(doc)
    return doc


@pytest.mark.parametrize(
    ("doc", "fields"),
    [
        pytest.param(service(ports=[{"port": 80}]), [], id="good"),
        pytest.param(service(), ["spec.ports"], id="no-ports"),
        pytest.param(service(clusterIP="None"), [], id="headless"),
        pytest.param(service(type="X", ports=[{"port": 80}]), ["spec.type"], id="type"),
        pytest.param(
            service(ports=[{"port": 80}, {"port": 81}]),
            ["spec.ports[0].name", "spec.ports[1].name"],
            id="two-ports-need-names",
        ),
        pytest.param(service(ports=[{"port": 0, "targetPort": "http"}]), ["spec.ports[0].port"], id="port-range"),
        pytest.param(service(sessionAffinity="X", ports=[{"port": 1}]), ["spec.sessionAffinity"], id="affinity"),
    ],
)
def test_service_create(doc: dict[str, Any], fields: list[str]) -> None:
    assert [error.field for error in SERVICE.create(doc, Context())] == fields


def test_service_keeps_its_address() -> None:
    old = service(ports=[{"port": 80}], clusterIP="10.0.0.1")
    new = service(ports=[{"port": 80}], clusterIP="10.0.0.2")
    assert [error.field for error in SERVICE.update(new, old, Context())] == ["spec.clusterIPs[0]"]


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
