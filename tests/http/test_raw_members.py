"""Texts that API servers keep as they were sent: what counts as a change of them, asked of Kubernetes for each."""

import asyncio
import json
from typing import Any

import pytest

from doorman.server.request import Query, Request
from support.api import Api, running_api

CLAIMS = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
SPACED = '{"z": 1, "a": "p<q"}'
IN_ORDER = '{"a":1,"z":"pq"}'
LABELED = '{"metadata":{"labels":{"k":"v"}}}'
APPLIED = '{"apiVersion":"resource.k8s.io/v1","kind":"%s","metadata":{"name":"a","labels":{"k":"v"}}%s}'


async def send(api: Api, method: str, path: str, body: str = "", type_: str = "application/json") -> tuple[int, Any]:
    plain, _, query = path.partition("?")
    headers = {"content-type": type_, "authorization": f"Bearer {api.credentials.admin_token}"}
    request = Request(method=method, path=plain, query=Query(query), headers=headers, body=body.encode())
    answer = await api.pipeline.handle(request)
    raw = answer.body if answer.chunks is None else b"".join(answer.chunks)
    return answer.status, json.loads(raw)


def claim(parameters: str, version: str = "v1", status: str = "") -> str:
    request = '{"name":"r","exactly":{"deviceClassName":"x"}}'
    if version == "v1beta1":
        request = '{"name":"r","deviceClassName":"x"}'
    config = f'[{{"opaque":{{"driver":"d.example.com","parameters":{parameters}}}}}]' if parameters else "[]"
    spec = f'{{"devices":{{"requests":[{request}],"config":{config}}}}}'
    head = f'"apiVersion":"resource.k8s.io/{version}","kind":"ResourceClaim","metadata":{{"name":"a"}}'
    return f'{{{head},"spec":{spec}{status}}}'


def device_class(parameters: str) -> str:
    config = f'[{{"opaque":{{"driver":"d.example.com","parameters":{parameters}}}}}]'
    return f'{{"metadata":{{"name":"a"}},"spec":{{"config":{config}}}}}'


def case(text: str, method: str, type_: str, body: str, status: int, *, version: str = "v1", id_: str) -> Any:
    return pytest.param(text, method, type_, body, version, status, id=id_)


@pytest.mark.parametrize(
    ("text", "method", "type_", "body", "version", "status"),
    [
        case(SPACED, "PUT", "", claim(SPACED), 200, id_="put same text"),
        case(SPACED, "PUT", "", claim(SPACED.replace(" ", "")), 422, id_="put compact"),
        case(SPACED, "PUT", "", claim(SPACED, "v1beta1"), 200, version="v1beta1", id_="put same text v1beta1"),
        case(SPACED, "PUT", "", claim(SPACED, "v1beta2"), 200, version="v1beta2", id_="put same text v1beta2"),
        case(SPACED, "PATCH", MERGE, LABELED, 422, id_="merge patch"),
        case(SPACED, "PATCH", STRATEGIC, LABELED, 422, id_="strategic patch"),
        case(SPACED, "PATCH", JSON_PATCH, "[]", 422, id_="json patch"),
        case(SPACED, "PATCH", APPLY, APPLIED % ("ResourceClaim", ""), 422, id_="apply"),
        case(IN_ORDER, "PATCH", MERGE, LABELED, 200, id_="merge patch, in order"),
        case(IN_ORDER, "PATCH", STRATEGIC, LABELED, 200, id_="strategic patch, in order"),
        case(IN_ORDER, "PATCH", JSON_PATCH, "[]", 200, id_="json patch, in order"),
        case(IN_ORDER, "PATCH", APPLY, APPLIED % ("ResourceClaim", ""), 200, id_="apply, in order"),
        case('{"z":1,"a":2}', "PATCH", MERGE, LABELED, 200, id_="merge patch, out of order"),
        case('{"z":1,"a":2}', "PATCH", JSON_PATCH, "[]", 200, id_="json patch, out of order"),
        case('{"z":1,"a":2}', "PATCH", STRATEGIC, LABELED, 422, id_="strategic patch, out of order"),
        case('{"z":1,"a":2}', "PATCH", APPLY, APPLIED % ("ResourceClaim", ""), 422, id_="apply, out of order"),
        case('{"a":1e3}', "PATCH", MERGE, LABELED, 200, id_="merge patch, number"),
        case('{"a":1e3}', "PATCH", STRATEGIC, LABELED, 422, id_="strategic patch, number"),
        case('{"a":1,"a":2}', "PATCH", JSON_PATCH, "[]", 200, id_="json patch, member twice"),
        case('{"a":"<"}', "PATCH", MERGE, "{}", 422, id_="merge patch, escaped in answers"),
    ],
)
def test_spec_of_a_claim(text: str, method: str, type_: str, body: str, version: str, status: int) -> None:
    async def main() -> None:
        async with running_api() as api:
            created, _ = await send(api, "POST", CLAIMS.format("v1"), claim(text))
            found, answer = await send(api, method, CLAIMS.format(version) + "/a?fieldManager=x", body, type_)
            assert (created, found) == (201, status), answer
            if status == 422:
                assert answer["details"]["causes"][0]["field"] == "spec"
            again, _ = await send(api, "PUT", CLAIMS.format("v1") + "/a", claim(text))
            assert again == 200, "it is still the text that was sent"

    asyncio.run(main())


@pytest.mark.parametrize("type_", [MERGE, STRATEGIC])
def test_status_leaves_the_spec_and_allocations_are_compared(type_: str) -> None:
    async def main() -> None:
        async with running_api() as api:
            path = CLAIMS.format("v1")
            await send(api, "POST", path, claim(SPACED))
            assert (await send(api, "PATCH", f"{path}/a/status", LABELED, type_))[0] == 200
            result = '{"request":"r","driver":"d.example.com","pool":"p","device":"v"}'
            config = f'{{"source":"FromClaim","opaque":{{"driver":"d.example.com","parameters":{SPACED}}}}}'
            allocation = f'{{"allocation":{{"devices":{{"results":[{result}],"config":[{config}]}}}}}}'
            whole = claim(SPACED, status=f',"status":{allocation}')
            assert (await send(api, "PUT", f"{path}/a/status", whole))[0] == 200
            assert (await send(api, "PUT", f"{path}/a/status", whole))[0] == 200
            found, answer = await send(api, "PATCH", f"{path}/a/status", "{}", type_)
            assert (found, answer["details"]["causes"][0]["field"]) == (422, "status.allocation")
            assert (await send(api, "PATCH", f"{path}/a/status", '{"status":{"allocation":null}}', MERGE))[0] == 200

    asyncio.run(main())


def test_generation_of_a_class_counts_texts() -> None:
    async def main() -> list[int]:
        async with running_api() as api:
            found = []
            apply = (APPLY, "?fieldManager=x")
            text = '{"b": 1,"a":2}'
            for method, body, type_, query in (
                ("POST", device_class(text), "application/json", ""),
                ("PUT", device_class(text), "application/json", ""),
                ("PATCH", "{}", MERGE, ""),
                ("PATCH", "{}", MERGE, ""),
                ("PATCH", "{}", STRATEGIC, ""),
                ("PATCH", "{}", STRATEGIC, ""),
                ("PUT", device_class(text), "application/json", ""),
                ("PATCH", APPLIED % ("DeviceClass", ""), *apply),
                ("PUT", device_class(text), "application/yaml", ""),
            ):
                path = CLASSES if method == "POST" else f"{CLASSES}/a"
                status, answer = await send(api, method, path + query, body, type_)
                assert status in (200, 201), answer
                found.append(answer["metadata"]["generation"])
            return found

    assert asyncio.run(main()) == [1, 1, 2, 2, 3, 3, 4, 5, 5]


def test_what_is_applied_and_changes_no_value_changes_no_text() -> None:
    async def main() -> int:
        async with running_api() as api:
            await send(api, "POST", f"{CLASSES}?fieldManager=x", device_class(SPACED))
            spec = f',"spec":{json.dumps(json.loads(device_class(SPACED))["spec"])}'
            body = APPLIED.replace(',"labels":{"k":"v"}', "") % ("DeviceClass", spec)
            status, answer = await send(api, "PATCH", f"{CLASSES}/a?fieldManager=y", body, APPLY)
            assert status == 200, answer
            generation: int = answer["metadata"]["generation"]
            return generation

    assert asyncio.run(main()) == 1


def test_text_of_a_list_that_is_owned_whole_has_an_owner_in_each_version() -> None:
    async def main() -> list[list[str]]:
        async with running_api() as api:
            found = []
            beta = CLASSES.replace("v1", "v1beta1")
            for method, path, manager, body, type_ in (
                ("POST", CLASSES, "one", device_class('{"a": 1}'), "application/json"),
                ("PUT", f"{CLASSES}/a", "two", device_class('{"a":1}'), "application/json"),
                ("PATCH", f"{CLASSES}/a", "three", "{}", STRATEGIC),
                ("PUT", f"{beta}/a", "four", device_class('{"a": 1}'), "application/json"),
                ("PATCH", f"{CLASSES}/a", "five", "{}", MERGE),
            ):
                _, answer = await send(api, method, f"{path}?fieldManager={manager}", body, type_)
                found.append([entry["manager"] for entry in answer["metadata"]["managedFields"]])
            return found

    assert asyncio.run(main()) == [["one"], ["two"], ["two"], ["four", "two"], ["five", "four"]]


def test_text_of_what_has_an_owner_of_its_own_is_no_matter() -> None:
    async def main() -> list[str]:
        async with running_api() as api:
            path = CLAIMS.format("v1")
            await send(api, "POST", path, claim(""))
            device = '{"driver":"d.example.com","pool":"p","device":"v"'
            allocation = f'"allocation":{{"devices":{{"results":[{device},"request":"r"}}]}}}}'
            for manager, data in (("one", '{"k": 1}'), ("two", '{"k":1}')):
                status = f',"status":{{{allocation},"devices":[{device},"data":{data}}}]}}'
                code, answer = await send(
                    api, "PUT", f"{path}/a/status?fieldManager={manager}", claim("", status=status)
                )
                assert code == 200, answer
            return [entry["manager"] for entry in answer["metadata"]["managedFields"] if "subresource" in entry]

    assert asyncio.run(main()) == ["one"]


def test_data_of_a_revision() -> None:
    async def main() -> list[int]:
        async with running_api() as api:
            body = '{"metadata":{"name":"a"},"revision":1,"data":%s}'
            found = [(await send(api, "POST", REVISIONS, body % '{"a": 1}'))[0]]
            for method, sent, type_ in (
                ("PATCH", '{"revision":2}', MERGE),
                ("PUT", body % '{"a": 1}', "application/json"),
                ("PUT", body % '{"a":1}', "application/json"),
            ):
                found.append((await send(api, method, f"{REVISIONS}/a", sent, type_))[0])
            return found

    assert asyncio.run(main()) == [201, 422, 200, 422]


def test_length_is_that_of_the_text() -> None:
    async def main() -> list[int]:
        async with running_api() as api:
            long = "x" * (10 * 1024 - len('{"a":""}'))
            texts = (f'{{"a":"{long}"}}', f'{{"a": "{long}"}}')
            return [(await send(api, "POST", f"{CLASSES}?dryRun=All", device_class(text)))[0] for text in texts]

    assert asyncio.run(main()) == [201, 422]


def test_deletion_leaves_the_text() -> None:
    async def main() -> None:
        async with running_api() as api:
            path = CLAIMS.format("v1")
            held = claim(SPACED).replace('"name":"a"', '"name":"a","finalizers":["a.b/c"]')
            await send(api, "POST", path, held)
            assert (await send(api, "DELETE", f"{path}/a"))[0] == 200
            status, answer = await send(api, "PUT", f"{path}/a", held)
            assert status == 200, answer
            assert "deletionTimestamp" in answer["metadata"]

    asyncio.run(main())
