"""Health endpoints, as text."""

import pytest

from doorman.base.errors import internal
from doorman.base.reader_faults import ReaderFaults
from doorman.server.health_checks import HealthChecks
from doorman.server.request import Query, Request

GOOD = HealthChecks({"ping": lambda: True, "etcd": lambda: True})
BAD = HealthChecks({"ping": lambda: True, "etcd": lambda: False})
SLOW = HealthChecks({"ping": lambda: True, "etcd-readiness": lambda: False}, ready_only=["etcd-readiness"])


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
        pytest.param(SLOW, "/readyz/etcd-readiness", "", 500, "failed", id="not-ready"),
        pytest.param(SLOW, "/livez", "verbose", 200, "[+]ping ok\nlivez check passed\n", id="lives-and-is-not-ready"),
        pytest.param(GOOD, "/healthz/etcd", "", 200, "ok", id="one"),
        pytest.param(BAD, "/healthz/etcd", "", 500, "failed", id="one-that-is-sick"),
    ],
)
async def test_answer(health: HealthChecks, path: str, query: str, status: int, body: str) -> None:
    found = await health.answer(Request(method="GET", path=path, query=Query(query), headers={}))
    assert found is not None
    assert (found.status, found.body.decode(), found.content_type) == (status, body, "text/plain; charset=utf-8")


@pytest.mark.parametrize("path", ["/healthz/nothing", "/health", "/api"])
async def test_other_paths_are_not_its_own(path: str) -> None:
    assert await GOOD.answer(Request(method="GET", path=path, query=Query(""), headers={})) is None


@pytest.mark.parametrize(
    ("names_objects", "line"),
    [
        pytest.param(True, "warn: secrets/default/a at revision 7 is set aside (watchcache)\n", id="to-who-is-known"),
        pytest.param(False, "warn: 1 stored objects are set aside\n", id="to-anybody-without-names"),
    ],
)
async def test_what_is_set_aside_is_told_and_keeps_nobody_from_serving(names_objects: bool, line: str) -> None:
    faults = ReaderFaults()
    faults.caught("watchcache", internal("damaged"), key="secrets/default/a", revision=7)
    health = HealthChecks({"ping": lambda: True}, faults)
    request = Request(method="GET", path="/readyz", query=Query("verbose"), headers={})
    found = await health.answer(request, names_objects=names_objects)
    assert found is not None
    assert (found.status, found.body.decode()) == (200, f"[+]ping ok\n{line}readyz check passed\n")
