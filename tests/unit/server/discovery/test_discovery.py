"""Discovery documents."""

import json
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.server.discovery.discovery import Discovery
from doorman.server.request import Query, Request, Response

DISCOVERY = Discovery(builtin_kinds())
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def answer(path: str, **headers: str) -> Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    found = DISCOVERY.answer(Request(method="GET", path=path, query=Query(""), headers=sent))
    assert found is not None
    return found


def get(path: str, **headers: str) -> Any:
    return json.loads(answer(path, **headers).body)


def test_core_versions_say_where_the_server_is() -> None:
    found = get("/api", host="a:1")
    assert (found["versions"], found["serverAddressByClientCIDRs"][0]["serverAddress"]) == (["v1"], "a:1")


def test_groups_come_in_the_order_that_short_names_need() -> None:
    names = [group["name"] for group in get("/apis")["groups"]]
    assert names[:4] == ["apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"]
    assert names[-2:] == ["doorman.dev", "metrics.k8s.io"]


def test_preferred_version_is_the_newest_stable_one() -> None:
    assert get("/apis/resource.k8s.io")["preferredVersion"]["version"] == "v1"
    assert get("/apis/autoscaling")["preferredVersion"]["version"] == "v2"


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        pytest.param("/api/v1", "pods/eviction", ("policy", "v1", "Eviction"), id="eviction"),
        pytest.param("/apis/apps/v1", "deployments/scale", ("autoscaling", "v1", "Scale"), id="scale"),
        pytest.param("/api/v1", "serviceaccounts/token", ("authentication.k8s.io", "v1", "TokenRequest"), id="token"),
    ],
)
def test_subresource_of_another_group_names_it(path: str, name: str, expected: tuple[str, str, str]) -> None:
    (row,) = [row for row in get(path)["resources"] if row["name"] == name]
    assert (row["group"], row["version"], row["kind"]) == expected
    assert row["singularName"] == ""


def test_verbs_are_in_order_and_namespaces_are_not_deleted_in_bulk() -> None:
    (row,) = [row for row in get("/api/v1")["resources"] if row["name"] == "namespaces"]
    assert row["verbs"] == sorted(row["verbs"])
    assert "deletecollection" not in row["verbs"]


def test_aggregated_document_is_fresh_and_cached_by_its_tag() -> None:
    found = answer("/apis", accept=AGGREGATED)
    assert found.content_type == AGGREGATED
    items = json.loads(found.body)["items"]
    assert {version["freshness"] for item in items for version in item["versions"]} == {"Current"}
    tag = dict(found.headers)["ETag"]
    again = answer("/apis", accept=AGGREGATED, if_none_match=tag)
    assert (again.status, again.body) == (304, b"")


def test_core_group_has_no_name_in_the_aggregated_document() -> None:
    (item,) = get("/api", accept=AGGREGATED)["items"]
    assert item["metadata"] == {}
    kinds = {row["resource"]: row["responseKind"] for row in item["versions"][0]["resources"]}
    assert kinds["pods"] == {"group": "", "version": "", "kind": "Pod"}


@pytest.mark.parametrize("path", ["/apis/no", "/apis/apps/v9", "/api/v9", "/other"])
def test_what_is_not_served_is_nobodys(path: str) -> None:
    assert DISCOVERY.answer(Request(method="GET", path=path, query=Query(""), headers={})) is None
