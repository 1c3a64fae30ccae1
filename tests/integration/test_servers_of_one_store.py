"""Servers of one store go by what any of them has acknowledged, though none reads what others wrote by itself."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from doorman.store.memory_store import MemoryStore
from support.api import Api, running_api
from support.lagging_store import LaggingStore

NAMESPACES = "/api/v1/namespaces"
POD = {"spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "a"}}
LIST_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Api, Api]]:
    shared = MemoryStore()
    async with running_api(store=LaggingStore(shared)) as first, running_api(store=LaggingStore(shared)) as second:
        yield first, second


async def posted(server: Api, path: str, body: dict[str, Any], expected: int = 201) -> Any:
    status, answer = await server.call("POST", path, body)
    assert status == expected, answer
    return answer


async def test_what_one_made_the_other_knows_when_it_is_about_to_refuse(servers: tuple[Api, Api]) -> None:
    first, second = servers
    await posted(first, NAMESPACES, {"metadata": {"name": "ns"}})
    await posted(second, f"{NAMESPACES}/ns/serviceaccounts", {"metadata": {"name": "a"}})
    await posted(second, "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "p"}, "value": 7})
    pod = {"metadata": {"name": "x"}, "spec": {**POD["spec"], "priorityClassName": "p"}}
    assert (await posted(first, f"{NAMESPACES}/ns/pods", pod))["spec"]["priority"] == 7
    assert (await second.call("DELETE", f"{NAMESPACES}/ns/pods/x?gracePeriodSeconds=0"))[0] == 200
    assert (await first.call("DELETE", f"{NAMESPACES}/ns/pods/x"))[0] == 404


async def test_rights_that_one_gives_the_other_grants(servers: tuple[Api, Api]) -> None:
    first, second = servers
    await first.given_role("r", "u", [LIST_PODS])
    assert (await second.call("GET", "/api/v1/pods", user="u"))[0] == 200
    await first.given_role("s", "v", [LIST_PODS])
    review = {"spec": {"user": "v", "resourceAttributes": {"verb": "list", "resource": "pods"}}}
    answer = await posted(second, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer["status"]["allowed"]


async def test_token_of_an_account_that_one_made_is_taken_by_the_other(servers: tuple[Api, Api]) -> None:
    first, second = servers
    await first.given_account("robot")
    token = await first.given_token("robot")
    status, answer = await second.call("GET", "/api/v1/pods", token=token)
    assert (status, answer["message"].split('"')[1]) == (403, "system:serviceaccount:default:robot")


async def test_refusal_that_nothing_newer_changes_stands(servers: tuple[Api, Api]) -> None:
    first, second = servers
    await posted(first, NAMESPACES, {"metadata": {"name": "ns"}})
    answer = await posted(second, f"{NAMESPACES}/other/configmaps", {"metadata": {"name": "c"}}, 404)
    assert answer["message"] == 'namespaces "other" not found'
    response = await second.answer("GET", "/api/v1/pods", user="nobody")
    assert response.status == 403


async def test_what_is_decided_again_is_warned_of_once(servers: tuple[Api, Api]) -> None:
    first, second = servers
    await posted(first, NAMESPACES, {"metadata": {"name": "ns"}})
    subsets = [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]
    response = await second.answer(
        "POST", f"{NAMESPACES}/ns/endpoints", {"metadata": {"name": "e"}, "subsets": subsets}
    )
    assert response.status == 201
    assert [value for name, value in response.headers if name == "Warning"] == [
        '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    ]


async def test_quota_is_counted_upon_what_the_others_let_in(servers: tuple[Api, Api]) -> None:
    first, second = servers
    await posted(first, NAMESPACES, {"metadata": {"name": "ns"}})
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"secrets": "3"}}}
    await posted(first, f"{NAMESPACES}/ns/resourcequotas", quota)
    await posted(second, f"{NAMESPACES}/ns/configmaps", {"metadata": {"name": "c"}})
    for number, server in enumerate((first, second, first)):
        await posted(server, f"{NAMESPACES}/ns/secrets", {"metadata": {"name": f"s{number}"}})
    for server in (second, first):
        await posted(server, f"{NAMESPACES}/ns/secrets", {"metadata": {"name": "more"}}, 403)
    assert (await second.call("DELETE", f"{NAMESPACES}/ns/secrets/s0"))[0] == 200
    await posted(first, f"{NAMESPACES}/ns/secrets", {"metadata": {"name": "again"}})
