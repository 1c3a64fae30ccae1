"""Health endpoints, as text."""

import pytest

from doorman.server.health_checks import HealthChecks
from doorman.server.request import Query, Request

GOOD = HealthChecks({"ping": lambda: True, "etcd": lambda: True})
BAD = HealthChecks({"ping": lambda: True, "etcd": lambda: False})


@pytest.mark.parametrize(
    ("health", "path", "query", "status", "body"),
    [
        pytest.param(GOOD, "/healthz", "", 200, "ok", id="well"),
        pytest.param(
            GOOD, "/livez", "verbose", 200, "[+]ping ok\n[+]etcd ok\nlivez check passed\n", id="well-and-talkative"
        ),
        pytest.param(
            BAD,
            "/readyz",
            "",
            500,
            "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n",
            id="not-well",
        ),
        pytest.param(BAD, "/readyz", "exclude=etcd", 200, "ok", id="without-the-sick-one"),
        pytest.param(
            GOOD,
            "/healthz",
            "verbose&exclude=x",
            200,
            "[+]ping ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: "
            'no matches for "x"\nhealthz check passed\n',
            id="excludes-what-is-not-there",
        ),
        pytest.param(GOOD, "/healthz/etcd", "", 200, "ok", id="one"),
        pytest.param(BAD, "/healthz/etcd", "", 500, "failed", id="one-that-is-sick"),
    ],
)
def test_answer(health: HealthChecks, path: str, query: str, status: int, body: str) -> None:
    found = health.answer(Request(method="GET", path=path, query=Query(query), headers={}))
    assert found is not None
    assert (found.status, found.body.decode(), found.content_type) == (status, body, "text/plain; charset=utf-8")


@pytest.mark.parametrize("path", ["/healthz/nothing", "/health", "/api"])
def test_other_paths_are_not_its_own(path: str) -> None:
    assert GOOD.answer(Request(method="GET", path=path, query=Query(""), headers={})) is None
