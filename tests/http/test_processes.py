"""Processes that are one server: whichever ends, nothing that was acknowledged is lost and nobody hangs."""

import http.client
import json
import os
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
import yaml

from support.server import Server, authority_of, fetch

MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE_SECONDS = 20.0


class Child:
    """A process a server has started."""

    def __init__(self, server: Server, module: str = "doorman.front") -> None:
        [self.pid] = server.children(module)
        self._handle = os.pidfd_open(self.pid)

    def has_ended(self) -> bool:
        """Within a while."""
        try:
            return bool(select.select([self._handle], [], [], PATIENCE_SECONDS)[0])
        finally:
            os.close(self._handle)


def create(server: Server, name: str) -> int:
    return fetch(server, "POST", MAPS, body=json.dumps({"metadata": {"name": name}}).encode())[0]


def test_front_that_dies_is_replaced(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        assert create(server, "before") == 201
        front = Child(server)
        os.kill(front.pid, signal.SIGKILL)
        assert front.has_ended()
        assert fetch(server, "GET", f"{MAPS}/before")[0] == 200, "who connects meanwhile waits"
        assert Child(server).pid != front.pid
        assert create(server, "after") == 201


def test_front_leaves_with_a_server_that_dies(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as server:
        assert create(server, "kept") == 201
        front = Child(server)
        server.stop(signal.SIGKILL)
        assert front.has_ended()
        port = int(server.address.rpartition(":")[2])
    with Server(tmp_path, "--nodes", "0", "--secure-port", str(port), in_memory=False) as again:
        assert fetch(again, "GET", f"{MAPS}/kept")[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_stop_together(tmp_path: Path, number: int) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        front = Child(server)
        os.kill(front.pid, signal.SIGINT)  # as a terminal might
        assert create(server, "a") == 201
        assert server.stop(number) == 0
        assert front.has_ended()


def test_watch_ends_in_order_when_the_server_stops(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        config = yaml.safe_load(server.kubeconfig.read_text())
        host, port = server.address.removeprefix("https://").split(":")
        context = ssl.create_default_context(cadata=authority_of(config))
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=PATIENCE_SECONDS)
        headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        connection.request("GET", f"{MAPS}?watch=1&resourceVersion=0", headers=headers)
        answer = connection.getresponse()
        assert json.loads(answer.readline())["type"] == "ADDED"
        assert server.stop() == 0
        answer.read()  # a stream that is cut short raises
        connection.close()


def test_server_whose_writer_dies_says_so_and_can_still_be_read(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as server:
        assert create(server, "kept") == 201
        writer = Child(server, "doorman.store.writer_process")
        os.kill(writer.pid, signal.SIGKILL)
        assert writer.has_ended()
        status, _, body = fetch(server, "POST", MAPS, body=b'{"metadata": {"name": "lost"}}')
        assert (status, json.loads(body)["reason"]) == (500, "InternalError")
        assert "the process that writes has ended" in json.loads(body)["message"]
        status, _, body = fetch(server, "GET", "/readyz")
        assert (status, b"[-]etcd failed" in body) == (500, True)
        assert fetch(server, "GET", f"{MAPS}/kept")[0] == 200
        assert fetch(server, "GET", f"{MAPS}/lost")[0] == 404


def test_writer_that_stands_still_holds_up_nobody_for_ever(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as server:
        assert create(server, "kept") == 201
        writer = Child(server, "doorman.store.writer_process")
        os.kill(writer.pid, signal.SIGSTOP)
        status, _, body = fetch(server, "POST", f"{MAPS}?timeout=1s", body=b'{"metadata": {"name": "late"}}')
        assert (status, json.loads(body)["reason"]) == (504, "Timeout")
        assert fetch(server, "GET", f"{MAPS}/kept")[0] == 200, "who reads does not wait"
        assert fetch(server, "GET", f"{MAPS}/late")[0] == 404
        status, _, body = fetch(server, "GET", "/readyz")
        assert (status, b"[-]etcd failed" in body) == (500, True)
        os.kill(writer.pid, signal.SIGCONT)
        assert create(server, "after") == 201
        assert fetch(server, "GET", "/readyz")[0] == 200
        os.kill(writer.pid, signal.SIGSTOP)
        status, _, body = fetch(server, "GET", "/readyz")
        assert status == 500, "also when nobody writes"
        assert server.stop(seconds_max=PATIENCE_SECONDS) == 0
        assert writer.has_ended()
    with Server(tmp_path, "--nodes", "0", in_memory=False) as again:
        assert fetch(again, "GET", f"{MAPS}/after")[0] == 200


@pytest.mark.parametrize("module", ["doorman.store.writer_process", "doorman.front"])
def test_process_that_is_killed_under_load_is_one_line(tmp_path: Path, module: str) -> None:
    with Server(tmp_path, "--nodes", "3", in_memory=False) as server:
        with ThreadPoolExecutor(8) as clients:
            started = [clients.submit(create, server, f"map-{number}") for number in range(60)]
            started[10].result()
            child = Child(server, module)
            os.kill(child.pid, signal.SIGKILL)
            assert child.has_ended()
            wait(started)
        assert server.stop() == 0
        assert server.process.stderr is not None
        lines = [line for line in server.process.stderr.read().splitlines() if not line.startswith(("try:", " "))]
        assert len(lines) == 1, lines
        assert lines[0].startswith("ERROR doorman.")


def damage_database(data: Path) -> None:
    os.truncate(data / "store.db", 20_000)


def damage_key(data: Path) -> None:
    (data / "pki" / "ca.key").write_text("garbage")


def damage_certificate(data: Path) -> None:
    (data / "pki" / "ca.crt").write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_database, damage_key, damage_certificate])
def test_damage_is_told_in_one_line_with_what_to_do(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as server:
        assert server.stop() == 0
    damage(tmp_path / "data")
    command = [sys.executable, "-m", "doorman", "up", "--secure-port", "0", "--data-dir", str(tmp_path / "data")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    error, hint = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert error.startswith("error: ")
    assert "damaged" in error
    assert hint.startswith("hint: ")


def test_damaged_object_is_named_listed_around_and_deleted(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as server:
        assert create(server, "whole") == 201
        assert create(server, "bad") == 201
        assert server.stop() == 0
    rows = sqlite3.connect(tmp_path / "data" / "store.db")
    rows.execute("UPDATE log SET value = x'00ff' WHERE key = 'configmaps/default/bad'")
    rows.commit()
    rows.close()
    with Server(tmp_path, "--nodes", "0", in_memory=False) as again:
        status, _, body = fetch(again, "GET", "/readyz?verbose")
        assert status == 200
        assert "warn: configmaps/default/bad at revision" in body.decode()
        assert b"configmaps" not in fetch(again, "GET", "/readyz?verbose", token=None)[2]
        assert b'doorman_reader_faults_total{reader="watchcache"} 1.0' in fetch(again, "GET", "/metrics")[2]
        names = [item["metadata"]["name"] for item in json.loads(fetch(again, "GET", MAPS)[2])["items"]]
        assert "whole" in names
        assert "bad" not in names
        assert fetch(again, "GET", f"{MAPS}/bad")[0] == 500
        assert fetch(again, "DELETE", f"{MAPS}/bad")[0] == 200
        assert fetch(again, "GET", f"{MAPS}/bad")[0] == 404
        assert b"warn:" not in fetch(again, "GET", "/readyz?verbose")[2]
        assert create(again, "bad") == 201


def test_list_says_how_long_it_is(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        _, headers, body = fetch(server, "GET", "/api/v1/configmaps")
        assert headers["content-length"] == str(len(body))


def test_port_that_is_taken_is_told_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AssertionError, match=f"cannot listen on 127.0.0.1:{port}"):
            Server(tmp_path, "--secure-port", str(port))
