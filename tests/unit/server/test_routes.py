"""What the router in front of built-in kinds says, which custom kinds have not."""

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.base.errors import ApiError
from doorman.server.request import Query, Request, parse_request_info
from doorman.server.routes import check_document_route, has_route, route_refusal

NODES = builtin_kinds().named("nodes")
THREE = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
OF_LISTS = f"{THREE}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


def asked(method: str, path: str, accept: str = "", body: bytes = b"{}") -> Request:
    return Request(method=method, path=path, query=Query(""), headers={"accept": accept}, body=body)


def refusal(method: str, path: str, accept: str = "", *, body: bytes = b"{}") -> tuple[int, str]:
    info = parse_request_info(method, path, Query(""))
    found = route_refusal(method, accept, info.verb, info.subresource, info.verb in NODES.verbs, not body)
    if found is None:
        return 0, ""
    error = found()
    return error.code, error.message.partition("representations: ")[2]


@pytest.mark.parametrize(
    ("method", "path", "accept", "expected"),
    [
        pytest.param("GET", "/api/v1/nodes/n", "", (0, ""), id="nothing-said"),
        pytest.param("GET", "/api/v1/nodes/n", "text/html, */*;q=0.1", (0, ""), id="anything"),
        pytest.param("GET", "/api/v1/nodes/n", "application/json;as=Table;v=v9;g=x", (0, ""), id="parameters-later"),
        pytest.param("GET", "/api/v1/nodes/n", "application/*", (406, THREE), id="no-wildcards-in-part"),
        pytest.param("GET", "/api/v1/nodes", "text/html", (406, OF_LISTS), id="list"),
        pytest.param("POST", "/api/v1/nodes", "text/html", (406, THREE), id="write"),
        pytest.param("GET", "/api/v1/namespaces/a/pods/p/log", "text/plain", (0, ""), id="log"),
        pytest.param("GET", "/api/v1/namespaces/a/pods/p/log", "a/b", (406, f"text/plain, {THREE}"), id="log-html"),
        pytest.param("GET", "/api/v1/nodes/n/proxy", "text/html", (0, ""), id="handed-on"),
        pytest.param("HEAD", "/api/v1/nodes", "", (405, ""), id="head"),
        pytest.param("GET", "/api/v1/proxy/nodes/n", "", (404, ""), id="old-proxy"),
    ],
)  # fmt: skip
def test_route_of_a_built_in_kind(method: str, path: str, accept: str, expected: tuple[int, str]) -> None:
    assert refusal(method, path, accept) == expected


def test_write_without_a_body_is_of_the_wrong_type() -> None:
    assert refusal("POST", "/api/v1/nodes", "text/html", body=b"") == (415, THREE)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/api", True, id="core"),
        pytest.param("/apis", False, id="groups"),
        pytest.param("/apis/apps", False, id="group"),
        pytest.param("/apis/apps/v1", True, id="version"),
        pytest.param("/apis/example.com/v1", False, id="custom-version"),
    ],
)
def test_documents_behind_the_router(path: str, expected: bool) -> None:
    assert has_route(path) is expected


def test_document_is_read_by_get_alone() -> None:
    with pytest.raises(ApiError, match="does not allow this method"):
        check_document_route(asked("HEAD", "/version"), ("application/json",))
    with pytest.raises(ApiError, match=r"Available representations: application/json$"):
        check_document_route(asked("GET", "/version", "application/yaml"), ("application/json",))
