"""An etcd that is away, not an etcd, of another cluster, full, or holds what nobody can read: told, and got over."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.etcd import BINARY, EtcdMember, free_ports
from support.server import Server, fetch

MAPS = "/api/v1/namespaces/default/configmaps"
QUOTA_BYTES = 16 * 1024 * 1024


@contextmanager
def started(folder: Path, *urls: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "doorman", "up", "--secure-port", "0", "--components=false"]
    place = ["--data-dir", str(folder / "keys"), "--etcd-servers", ",".join(urls)]
    process = subprocess.Popen([*command, *place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=20)


def line_of(stream: Any) -> str:  # a pipe of a process
    line: str = stream.readline()
    return line


def test_etcd_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    client, peer = free_ports(2)
    with started(tmp_path, f"http://127.0.0.1:{client}") as process:
        told = line_of(process.stderr)
        assert f"waiting for etcd at http://127.0.0.1:{client}: " in told
        assert "Connection refused" in told
        assert "hint: " in told
        member = EtcdMember(tmp_path, "--unsafe-no-fsync", ports=(client, peer))
        with member:
            assert line_of(process.stdout).startswith("ready ")


def test_what_is_no_etcd_is_told_of(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ends = threading.Event()

        def answer() -> None:
            while not ends.is_set():
                try:
                    connection, _ = other.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with started(tmp_path, f"http://127.0.0.1:{other.getsockname()[1]}") as process:
            told = line_of(process.stderr)
            assert "waiting for etcd" in told
            assert "hint: is that where etcd's clients ask?" in told
        ends.set()


def test_members_of_two_clusters_are_not_taken_for_one(tmp_path: Path) -> None:
    first, second = (EtcdMember(tmp_path / name, "--unsafe-no-fsync") for name in "ab")
    for one in (first, second):
        one.folder.mkdir()
    second.start(token="another")
    second.wait()
    try:
        with first, started(tmp_path, first.url, second.url) as process:
            assert process.wait(30) == 1
            told = process.stderr.read() if process.stderr is not None else ""
            assert "are of different clusters" in told
            assert "hint: see --etcd-servers" in told
    finally:
        second.stop()


def asked(server: Server, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
    status, _, answer = fetch(server, method, path, body=None if body is None else json.dumps(body).encode())
    assert status == expected, answer[:500]
    return json.loads(answer)


def etcdctl(member: EtcdMember, *arguments: str) -> str:
    command = [str(BINARY.parent / "etcdctl"), "--endpoints", member.url.removeprefix("http://"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env={"ETCDCTL_API": "3"})
    return done.stdout


@pytest.fixture
def member(tmp_path: Path) -> Iterator[EtcdMember]:
    with EtcdMember(tmp_path, "--unsafe-no-fsync", "--quota-backend-bytes", str(QUOTA_BYTES)) as running:
        yield running


@pytest.fixture
def server(member: EtcdMember, tmp_path: Path) -> Iterator[Server]:
    place = ["--etcd-servers", member.url, "--data-dir", str(tmp_path / "keys")]
    with Server(tmp_path, "--components=false", *place, place=()) as running:
        yield running


def test_full_database_is_told_and_goes_on_when_there_is_room(server: Server, member: EtcdMember) -> None:
    filling = {"filling": "x" * 1_000_000}
    made = []
    for number in range(100):
        body = {"metadata": {"name": f"m{number}"}, "data": filling}
        status, _, answer = fetch(server, "POST", MAPS, body=json.dumps(body).encode())
        if status != 201:
            break
        made.append(f"m{number}")
    assert (status, json.loads(answer)["message"]) == (500, "etcdserver: mvcc: database space exceeded")
    there = {one["metadata"]["name"] for one in asked(server, "GET", MAPS)["items"]}
    assert there - {f"m{number}"} == set(made), "nothing is lost; etcd may have done what it refuses last"
    made = sorted(there)
    assert fetch(server, "GET", "/readyz")[0] == 200, "it reads, and can be mended"
    status = json.loads(etcdctl(member, "endpoint", "status", "-w", "json"))[0]["Status"]
    for name in made[1:]:
        etcdctl(member, "del", f"/registry/configmaps/default/{name}")
    etcdctl(member, "compact", str(status["header"]["revision"] + len(made) - 1))
    etcdctl(member, "defrag")
    etcdctl(member, "alarm", "disarm")
    asked(server, "POST", MAPS, {"metadata": {"name": "after"}}, 201)
    assert [one["metadata"]["name"] for one in asked(server, "GET", MAPS)["items"]] == ["after", made[0]]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x",', id="cut-short"),
        pytest.param("k8s:enc:aescbc:v1:key1:abc", id="encrypted"),
        pytest.param('{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}', id="of-another-kind"),
        pytest.param('{"kind":"ConfigMap","apiVersion":"v7","metadata":{"name":"x"}}', id="of-an-unknown-version"),
    ],
)
def test_value_that_nobody_can_read_harms_nobody_else(server: Server, member: EtcdMember, value: str) -> None:
    asked(server, "POST", MAPS, {"metadata": {"name": "sound"}}, 201)
    key = "/registry/configmaps/default/x"
    etcdctl(member, "put", key, value)
    assert [one["metadata"]["name"] for one in asked(server, "GET", MAPS)["items"]] == ["sound"]
    assert "default/x" in asked(server, "GET", f"{MAPS}/x", expected=500)["message"]
    asked(server, "PUT", f"{MAPS}/x", {"metadata": {"name": "x"}}, 500)
    asked(server, "POST", MAPS, {"metadata": {"name": "x"}}, 409)
    assert etcdctl(member, "get", "--print-value-only", key).rstrip("\n") == value, "and is never overwritten"
    assert b"configmaps/default/x" in fetch(server, "GET", "/readyz?verbose")[2]
    etcdctl(member, "put", key, '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","namespace":"default"}}')
    assert asked(server, "GET", f"{MAPS}/x")["metadata"]["name"] == "x", "it is read when somebody mends it"
    assert b"configmaps/default/x" not in fetch(server, "GET", "/readyz?verbose")[2]
