"""A cluster read over HTTP: chunks, kinds that are not served, clocks that differ."""

from collections.abc import Mapping
from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.base.instants import from_time, to_micro_time
from doorman.snapshot.cluster_reader import read_cluster

NOW = from_time("2026-01-01T00:00:00Z")


class FakeServer:
    """Serves nodes, pods and leases in pages of two; nothing else."""

    def __init__(self, renewed: float = NOW - 3) -> None:
        self.asked: list[str] = []
        self.expires = 0
        """So many requests for a further page are told that it is too old."""
        names = ["a", "b", "c"]
        spec = {"renewTime": to_micro_time(renewed)}
        self._lists: dict[str, list[dict[str, Any]]] = {
            "/api/v1/nodes": [{"metadata": {"name": name, "uid": name}} for name in names],
            "/api/v1/pods": [{"metadata": {"name": "p", "namespace": "x"}, "spec": {"nodeName": "gone"}}],
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": [
                {"metadata": {"name": "a", "namespace": "kube-node-lease"}, "spec": spec}
            ],
        }

    def request(self, method: str, path: str, *, query: Mapping[str, str] | None = None) -> Any:
        assert method == "GET", "it is only read"
        self.asked.append(path)
        if path == "/version":
            return {"gitVersion": "v1.36.1"}
        if path not in self._lists:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        start = int((query or {}).get("continue", "0"))
        if start and self.expires:
            self.expires -= 1
            raise ApiError(410, "Expired", "too old")
        items = self._lists[path]
        more = {"continue": str(start + 2)} if start + 2 < len(items) else {}
        return {"metadata": more, "items": items[start : start + 2]}


def read(server: FakeServer) -> Any:
    return read_cluster(server, NOW)  # type: ignore[arg-type]  # what it asks of a client is there


def test_pages_are_put_together_and_kinds_that_are_not_served_left_out() -> None:
    server = FakeServer()
    found = read(server)
    assert [doc["metadata"]["name"] for doc in found.documents()] == ["a", "a", "b", "c", "p"]
    assert (found.server_version, found.taken_at) == ("v1.36.1", NOW)
    assert not any("secrets" in path or "configmaps" in path for path in server.asked)


def test_list_that_took_too_long_is_begun_anew() -> None:
    server = FakeServer()
    server.expires = 1
    assert sum(doc["kind"] == "Node" for doc in read(server).documents()) == 3


def test_references_that_lead_nowhere_in_the_cluster_are_noted() -> None:
    assert read(FakeServer()).dangling == {"Pod x/p"}


@pytest.mark.parametrize(
    ("renewed", "taken"),
    [
        pytest.param(NOW - 9, NOW, id="our-clock"),
        pytest.param(NOW + 5, NOW + 5, id="theirs-is-ahead"),
        pytest.param(NOW - 3600, NOW - 3600, id="theirs-is-virtual"),
    ],
)
def test_snapshot_is_as_old_as_our_clock_says_unless_theirs_is_another(renewed: float, taken: float) -> None:
    assert read(FakeServer(renewed)).taken_at == taken


def test_server_without_nodes_is_an_error() -> None:
    server = FakeServer()
    del server._lists["/api/v1/nodes"]
    with pytest.raises(ApiError, match="does not serve nodes"):
        read(server)
