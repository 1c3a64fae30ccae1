"""What a method and a path ask for."""

import pytest

from doorman.base.errors import ApiError
from doorman.server.request import Query, parse_request_info


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param("GET", "/api/v1/pods", "", "list|||pods||", id="list-all"),
        pytest.param("GET", "/api/v1/pods", "watch=true", "watch|||pods||", id="watch"),
        pytest.param("GET", "/api/v1/pods", "watch=0", "list|||pods||", id="watch-off"),
        pytest.param("GET", "/api/v1/namespaces/a/pods/p", "", "get||a|pods|p|", id="get"),
        pytest.param("HEAD", "/api/v1/namespaces/a/pods/p", "", "get||a|pods|p|", id="head"),
        pytest.param("POST", "/api/v1/namespaces/a/pods/p/eviction", "", "create||a|pods|p|eviction", id="subresource"),
        pytest.param("PUT", "/api/v1/namespaces/a/finalize", "", "update||a|namespaces|a|finalize", id="finalize"),
        pytest.param("GET", "/api/v1/namespaces/a", "", "get||a|namespaces|a|", id="namespace-itself"),
        pytest.param(
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            "",
            "deletecollection|apps|a|deployments||",
            id="delete-many",
        ),
        pytest.param(
            "DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "", "delete|apps|a|deployments|d|", id="delete-one"
        ),
        pytest.param(
            "PATCH",
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "",
            "patch|apps|a|deployments|d|scale",
            id="scale",
        ),
        pytest.param("GET", "/api/v1/watch/nodes", "", "watch|||nodes||", id="old-watch-path"),
    ],
)
def test_resource_paths(method: str, path: str, query: str, expected: str) -> None:
    info = parse_request_info(method, path, Query(query))
    assert info.is_resource
    found = (info.verb, info.group, info.namespace, info.resource, info.name, info.subresource)
    assert "|".join(found) == expected


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz"])
def test_plain_paths(path: str) -> None:
    info = parse_request_info("GET", path, Query(""))
    assert (info.is_resource, info.verb) == (False, "get")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("metadata.name=x", "x", id="pinned"),
        pytest.param("metadata.name!=x", "", id="not-equal"),
        pytest.param("spec.nodeName=x", "", id="another-field"),
        pytest.param("nonsense", "", id="unreadable"),
    ],
)
def test_name_that_decides_about_rights(selector: str, expected: str) -> None:
    query = Query(f"fieldSelector={selector.replace('=', '%3D')}")
    assert parse_request_info("GET", "/api/v1/nodes", query).named == expected


def test_query_reads_flags_and_numbers() -> None:
    query = Query("a&b=false&c=0&d=yes&n=5&n=6&bad=x")
    assert [query.flag(name) for name in "abcde"] == [True, False, False, True, False]
    assert (query.integer_or_none("n"), query.all("n"), query.integer_or_none("none")) == (5, ["5", "6"], None)
    assert (query.flag_or_none("a"), query.flag_or_none("z")) == (True, None)
    with pytest.raises(ApiError, match=r"strconv\.ParseInt"):
        query.integer_or_none("bad")


@pytest.mark.parametrize(
    ("raw", "name", "expected"),
    [
        pytest.param("a=1&a=2", "a", ["1", "2"], id="repeated"),
        pytest.param("a", "a", [""], id="without-value"),
        pytest.param("a=b+c%20d", "a", ["b c d"], id="spaces"),
        pytest.param("a=%zz&a=1", "a", ["1"], id="bad-escape-is-left-out"),
        pytest.param("a=%2&a=1", "a", ["1"], id="cut-escape-is-left-out"),
        pytest.param("a=1;b=2&a=3", "a", ["3"], id="semicolon-is-left-out"),
        pytest.param("a=%ff", "a", ["\ufffd"], id="no-utf-8"),
        pytest.param("&&a=1&", "a", ["1"], id="empty-pairs"),
        pytest.param("x=1&" * 101 + "a=1", "a", ["1"], id="more-than-a-hundred"),
        pytest.param("a=1&" * 10_000 + "b=1", "b", [], id="more-than-go-reads"),
    ],
)
def test_query_is_read_as_go_reads_it(raw: str, name: str, expected: list[str]) -> None:
    assert Query(raw).all(name) == expected
