"""OpenAPI documents: what kubectl looks for in them."""

import asyncio
import json
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, data_file, type_table
from doorman.api.machinery.schema import Schema
from doorman.server.discovery.openapi import OpenApi
from doorman.server.request import Query, Request, Response

OPENAPI = OpenApi(builtin_kinds(), Schema(type_table()))
CORE = "/openapi/v3/api/v1"


def get(path: str, query: str = "", **headers: str) -> Response:
    found = OPENAPI.answer(Request(method="GET", path=path, query=Query(query), headers=headers))
    assert found is not None
    return found


def document(path: str = CORE) -> Any:
    return json.loads(get(path).body)


def test_index_names_every_version_by_its_hash() -> None:
    answer = get("/openapi/v3")
    paths = json.loads(answer.body)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1beta1"} <= paths.keys()
    place, _, query = paths["api/v1"]["serverRelativeURL"].partition("?")
    assert get(place, query).cache_control == "public, immutable"
    assert dict(answer.headers)["Etag"]


def test_old_hash_leads_to_the_new_one() -> None:
    answer = get(CORE, "hash=OLD")
    assert answer.status == 301
    assert dict(answer.headers)["Location"].startswith(f"{CORE}?hash=")


def test_patch_says_what_kubectl_asks() -> None:
    patch = document()["paths"]["/api/v1/nodes/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Node"}
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_schemas_carry_merge_keys_and_descriptions() -> None:
    schemas = document()["components"]["schemas"]
    node = schemas["io.k8s.api.core.v1.Node"]
    assert node["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Node"}]
    taints = schemas["io.k8s.api.core.v1.NodeSpec"]["properties"]["taints"]
    assert (taints["x-kubernetes-list-type"], "keeps pods away" in taints["description"]) == ("atomic", True)
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (containers["x-kubernetes-patch-merge-key"], containers["x-kubernetes-list-map-keys"]) == ("name", ["name"])


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(member) for member in value.values()))
    return set().union(*(references(item) for item in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("place", ["api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1", "apis/doorman.dev/v1"])
def test_every_reference_leads_somewhere(place: str) -> None:
    found = document(f"/openapi/v3/{place}")
    known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert references(found) <= known


def test_version_two_is_empty_for_old_kubectl_and_complete_for_others() -> None:
    media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    assert get("/openapi/v2", accept=media).body == b""
    found = json.loads(get("/openapi/v2").body)
    assert found["swagger"] == "2.0"
    assert references(found) <= {f"#/definitions/{name}" for name in found["definitions"]}
    assert "io.k8s.api.apps.v1.DaemonSet" in found["definitions"]


def test_unknown_place_is_nobodys() -> None:
    assert OPENAPI.answer(Request(method="GET", path="/openapi/v3/apis/no/v1", query=Query(""), headers={})) is None


@pytest.mark.parametrize(
    ("place", "schema", "member", "expected"),
    [
        pytest.param(CORE, "core.v1.Taint", "effect", ["NoExecute", "NoSchedule", "PreferNoSchedule"], id="text"),
        pytest.param(CORE, "core.v1.Taint", "key", None, id="any-text"),
        pytest.param("/openapi/v3/apis/networking.k8s.io/v1", "networking.v1.NetworkPolicySpec", "policyTypes",
                     ["Egress", "Ingress"], id="list"),
    ],
)  # fmt: skip
def test_texts_that_a_member_may_be(place: str, schema: str, member: str, expected: list[str] | None) -> None:
    shown = document(place)["components"]["schemas"][f"io.k8s.api.{schema}"]["properties"][member]
    assert shown.get("items", shown).get("enum") == expected


def test_every_enum_is_of_a_member_that_is_there() -> None:
    named = [(name, member) for name, members in data_file("enums.json").items() for member in members]
    assert [(name, member) for name, member in named if member not in type_table()[name]["fields"]] == []


@pytest.mark.parametrize(
    ("schema", "member", "named"),
    [
        pytest.param("io.k8s.api.core.v1.HTTPGetAction", "port", "util.intstr.IntOrString", id="number-or-text"),
        pytest.param("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp", "meta.v1.Time", id="time"),
        pytest.param("io.k8s.api.core.v1.ResourceFieldSelector", "divisor", "api.resource.Quantity", id="quantity"),
        pytest.param("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", "fieldsV1", "meta.v1.FieldsV1",
                     id="field-set"),
    ],
)  # fmt: skip
def test_scalars_with_a_name_are_referred_to(schema: str, member: str, named: str) -> None:
    (reference,) = document()["components"]["schemas"][schema]["properties"][member]["allOf"]
    assert reference["$ref"].endswith(f".{named}")


def test_amounts_in_a_map_are_quantities() -> None:
    requests = document()["components"]["schemas"]["io.k8s.api.core.v1.ResourceRequirements"]["properties"]["requests"]
    assert requests["additionalProperties"]["allOf"][0]["$ref"].endswith(".api.resource.Quantity")


def test_document_of_version_two_is_prepared_version_by_version() -> None:
    openapi = OpenApi(builtin_kinds(), Schema(type_table()))
    asked = Request(method="GET", path="/openapi/v2", query=Query(""), headers={})
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> None:
        beside = asyncio.create_task(others())
        await openapi.prepare(asked)
        beside.cancel()

    asyncio.run(main())
    assert turns > 20
    found = openapi.answer(asked)
    assert found is not None
    assert json.loads(found.body) == json.loads(get("/openapi/v2").body)
