"""Several Doormen over one etcd give out the room of a quota: nothing more than there is, and all of it."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from support.etcd import EtcdMember
from support.fuzzing import Line, plain
from support.server import Server, fetch

NAMESPACE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
ROOM = 25
CLIENTS = 6
"""Of each server."""
EACH = 6
"""Wishes of a client: many more than there is room."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    folder = tmp_path_factory.mktemp("servers")
    with EtcdMember(folder, "--unsafe-no-fsync") as member:
        place = ["--etcd-servers", member.url, "--data-dir", str(folder / "keys"), "--components=false"]
        for name in ("a", "b"):
            (folder / name).mkdir()
        with Server(folder / "a", *place, place=()) as first, Server(folder / "b", *place, place=()) as second:
            yield first, second


def asked(server: Server, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
    status, _, answer = fetch(server, method, path, body=None if body is None else json.dumps(body).encode())
    assert status == expected, answer
    return json.loads(answer)


def crowd(servers: tuple[Server, Server]) -> list[tuple[int, dict[str, Any]]]:
    """Everybody asks at the same time as everybody else, one thing after the other."""
    answers: list[tuple[int, dict[str, Any]]] = []
    barrier = threading.Barrier(2 * CLIENTS)

    def ask(number: int) -> None:
        line = Line(servers[number % 2])
        barrier.wait()
        for _ in range(EACH):
            status, answer = line.ask(plain("POST", CONFIG_MAPS, {"metadata": {"generateName": "c-"}}))
            answers.append((status, json.loads(answer)))
        line.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2 * CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_servers_together_let_in_what_there_is_room_for(servers: tuple[Server, Server]) -> None:
    first, second = servers
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": str(ROOM)}}}
    asked(first, "POST", f"{NAMESPACE}/resourcequotas", quota, 201)
    asked(second, "GET", f"{NAMESPACE}/resourcequotas/q")
    before = len(asked(first, "GET", CONFIG_MAPS)["items"])
    status = {"hard": {"configmaps": str(ROOM)}, "used": {"configmaps": str(before), "pods": "7"}}
    now = asked(first, "GET", f"{NAMESPACE}/resourcequotas/q")
    asked(first, "PUT", f"{NAMESPACE}/resourcequotas/q/status", {**now, "status": status})
    answers = crowd(servers)
    assert Counter(code for code, _ in answers) == {201: ROOM - before, 403: 2 * CLIENTS * EACH - ROOM + before}
    refused = {doc["message"].partition(" is forbidden: ")[2] for code, doc in answers if code == 403}
    assert refused == {
        f"exceeded quota: q, requested: configmaps=1, used: configmaps={ROOM}, limited: configmaps={ROOM}"
    }
    assert len(asked(second, "GET", CONFIG_MAPS)["items"]) == ROOM
    used = asked(second, "GET", f"{NAMESPACE}/resourcequotas/q")["status"]["used"]
    assert used == {"configmaps": str(ROOM), "pods": "7"}, "what is used is told with what uses it"
    gone = next(doc["metadata"]["name"] for code, doc in answers if code == 201)
    asked(first, "DELETE", f"{CONFIG_MAPS}/{gone}")
    asked(second, "POST", CONFIG_MAPS, {"metadata": {"name": "again"}}, 201)
    asked(first, "POST", CONFIG_MAPS, {"metadata": {"name": "too-many"}}, 403)
    asked(first, "POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "too-many"}}, 403)


def test_what_no_quota_counts_leaves_them_alone(servers: tuple[Server, Server]) -> None:
    first, second = servers
    quota = {"metadata": {"name": "of-secrets"}, "spec": {"hard": {"secrets": "10"}}}
    path = f"{NAMESPACE}/resourcequotas/of-secrets"
    asked(first, "POST", f"{NAMESPACE}/resourcequotas", quota, 201)
    before = asked(second, "GET", path)["metadata"]["resourceVersion"]
    asked(second, "POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "s"}}, 201)
    asked(second, "POST", f"{NAMESPACE}/secrets?dryRun=All", {"metadata": {"name": "s"}}, 201)
    assert asked(first, "GET", path)["metadata"]["resourceVersion"] == before
    made = asked(second, "POST", f"{NAMESPACE}/secrets", {"metadata": {"name": "s"}}, 201)
    found = asked(first, "GET", path)
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "one transaction"
    assert "status" not in found or "used" not in found["status"], "nobody has reported on it yet"
