"""What a definition's schema says of how lists and maps are merged."""

from typing import Any

import pytest

from doorman.validation.apiextensions.list_extensions import list_extension_errors

ITEM = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}}
MAP = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": ITEM}


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        pytest.param(MAP, [], id="fine"),
        pytest.param({**MAP, "x-kubernetes-list-map-keys": []}, ["p.x-kubernetes-list-map-keys"], id="no-keys"),
        pytest.param({**MAP, "x-kubernetes-list-map-keys": ["x"]}, ["p.x-kubernetes-list-map-keys"], id="unknown-key"),
        pytest.param({**MAP, "x-kubernetes-list-map-keys": ["id", "id"]}, ["p.x-kubernetes-list-map-keys"], id="twice"),
        pytest.param({**MAP, "x-kubernetes-list-map-keys": ["n"]}, ["p.items.properties[n].default"], id="optional"),
        pytest.param({**MAP, "x-kubernetes-list-type": "set"}, [
            "p.items.x-kubernetes-map-type", "p.x-kubernetes-list-type"], id="keys-of-a-set"),
        pytest.param({**MAP, "items": {"type": "string"}}, ["p.items.type"], id="items-are-no-objects"),
        pytest.param({**MAP, "items": {**ITEM, "nullable": True}}, ["p.items.nullable"], id="items-may-be-null"),
        pytest.param({**MAP, "items": None}, ["p.items"], id="no-items"),
        pytest.param({"type": "string", "x-kubernetes-list-type": "atomic"}, ["p.type"], id="no-list"),
        pytest.param({"type": "array", "x-kubernetes-list-type": "bag"}, ["p.x-kubernetes-list-type"], id="unknown"),
        pytest.param({"type": "object", "x-kubernetes-map-type": "set"}, ["p.x-kubernetes-map-type"], id="map-type"),
        pytest.param({"type": "string", "x-kubernetes-map-type": "atomic"}, ["p.type"], id="map-type-of-a-text"),
    ],
)  # fmt: skip
def test_extensions(schema: dict[str, Any], fields: list[str]) -> None:
    assert [error.field for error in list_extension_errors(schema, "p")] == fields
