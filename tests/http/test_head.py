"""HEAD: the head of what GET would answer, at once, and nothing after it."""

from collections.abc import Iterator

import pytest

from support.server import Server, fetch


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("head"), "--nodes", "0") as running:
        yield running


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/healthz", 200, id="plain-path"),
        pytest.param("/apis", 200, id="groups"),
        pytest.param("/openapi/v3", 200, id="openapi"),
        pytest.param("/api/v1/namespaces/default", 405, id="object"),
        pytest.param("/api/v1/namespaces", 405, id="list"),
        pytest.param("/api/v1", 405, id="version"),
        pytest.param("/nope", 404, id="not-found"),
    ],
)
def test_head_is_answered_without_a_body_where_upstream_knows_it(server: Server, path: str, status: int) -> None:
    assert fetch(server, "HEAD", path)[::2] == (status, b"")
