"""Real Doormen on a real etcd: several at once, one that goes, an etcd that is away, moving what is stored."""

import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.etcd import EtcdMember, free_ports
from support.server import Server, authority_of, fetch

MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[EtcdMember]:
    with EtcdMember(tmp_path, "--unsafe-no-fsync") as running:
        yield running


def doorman_on(member: EtcdMember, folder: Path, name: str, *flags: str) -> Server:
    """All share the directory with the keys."""
    own = folder / name
    own.mkdir()
    place = ["--etcd-servers", member.url, "--data-dir", str(folder / "keys")]
    return Server(own, "--nodes", "0", *place, *flags, place=())


def asked(server: Server, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
    status, _, answer = fetch(server, method, path, body=None if body is None else json.dumps(body).encode())
    assert status == expected, answer
    return json.loads(answer)


def awaited_lease(server: Server, name: str, is_wanted: Callable[[str], bool]) -> str:
    """Who holds the lease, once it is somebody wanted."""
    config = yaml.safe_load(server.kubeconfig.read_text())
    context = ssl.create_default_context(cadata=authority_of(config))
    token = config["users"][0]["user"]["token"]
    url = f"{server.address}{LEASES}?watch=true&timeoutSeconds=30&fieldSelector=metadata.name%3D{name}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=context, timeout=40) as lines:
        for line in lines:
            holder: str = json.loads(line)["object"]["spec"].get("holderIdentity", "")
            if is_wanted(holder):
                return holder
    raise AssertionError("nobody took it")


def test_what_is_written_at_one_is_read_at_the_other(member: EtcdMember, tmp_path: Path) -> None:
    with doorman_on(member, tmp_path, "a") as first, doorman_on(member, tmp_path, "b") as second:
        for number in range(20):
            here, there = (first, second) if number % 2 else (second, first)
            made = asked(here, "POST", MAPS, {"metadata": {"name": f"m{number}"}}, 201)
            assert asked(there, "GET", f"{MAPS}/m{number}") == made
            changed = asked(there, "PUT", f"{MAPS}/m{number}", {**made, "data": {"a": "b"}})
            asked(here, "PUT", f"{MAPS}/m{number}", {**made, "data": {"a": "c"}}, 409)
            assert asked(here, "GET", f"{MAPS}/m{number}") == changed
        lists = [asked(one, "GET", MAPS) for one in (first, second)]
        assert lists[0]["items"] == lists[1]["items"]
        page = asked(first, "GET", f"{MAPS}?limit=7")
        rest = asked(second, "GET", f"{MAPS}?limit=50&continue={page['metadata']['continue']}")
        assert page["items"] + rest["items"] == lists[0]["items"], "a token means the same everywhere"
        token = first.kubectl("create", "token", "default").stdout.strip()
        assert fetch(second, "GET", "/api", token=token)[0] == 200


def test_leader_that_is_stopped_gives_its_leases_back(member: EtcdMember, tmp_path: Path) -> None:
    with doorman_on(member, tmp_path, "a") as first:
        holder = awaited_lease(first, "kube-scheduler", bool)
        with doorman_on(member, tmp_path, "b") as second:
            assert awaited_lease(second, "kube-scheduler", bool) == holder
            first.stop()
            assert awaited_lease(second, "kube-scheduler", lambda found: found not in ("", holder))
            asked(second, "POST", "/api/v1/namespaces", {"metadata": {"name": "led"}}, 201)
            ready = second.kubectl("wait", "--for=create", "serviceaccount/default", "-n", "led", "--timeout=30s")
            assert ready.returncode == 0, "its controllers act"


@pytest.mark.slow
def test_leader_that_is_killed_is_followed_by_another(member: EtcdMember, tmp_path: Path) -> None:
    with doorman_on(member, tmp_path, "a") as first:
        holder = awaited_lease(first, "kube-controller-manager", bool)
        with doorman_on(member, tmp_path, "b") as second:
            first.stop(signal.SIGKILL)
            assert awaited_lease(second, "kube-controller-manager", lambda found: found not in ("", holder))
            asked(second, "POST", "/api/v1/namespaces", {"metadata": {"name": "led"}}, 201)
            ready = second.kubectl("wait", "--for=create", "serviceaccount/default", "-n", "led", "--timeout=30s")
            assert ready.returncode == 0, "its controllers act"


def test_etcd_that_is_away_is_told_and_waited_for(member: EtcdMember, tmp_path: Path) -> None:
    with doorman_on(member, tmp_path, "a") as server:
        asked(server, "POST", MAPS, {"metadata": {"name": "before"}}, 201)
        member.signal(signal.SIGSTOP)
        assert fetch(server, "GET", f"{MAPS}/before?resourceVersion=0")[0] == 200, "from memory"
        assert fetch(server, "POST", f"{MAPS}?timeout=1s", body=b'{"metadata":{"name":"lost"}}')[0] == 504
        status, _, answer = fetch(server, "GET", "/readyz?verbose")
        assert (status, b"[-]etcd failed" in answer) == (500, True)
        member.signal(signal.SIGCONT)
        asked(server, "POST", MAPS, {"metadata": {"name": "after"}}, 201)
        assert asked(server, "GET", f"{MAPS}/before")["metadata"]["name"] == "before"
        assert fetch(server, "GET", "/readyz")[0] == 200


def test_objects_outlive_the_server(member: EtcdMember, tmp_path: Path) -> None:
    with doorman_on(member, tmp_path, "a") as server:
        made = asked(server, "POST", MAPS, {"metadata": {"name": "kept"}, "data": {"a": "b"}}, 201)
        server.stop(signal.SIGKILL)
    with doorman_on(member, tmp_path, "b") as server:
        assert asked(server, "GET", f"{MAPS}/kept") == made


def test_store_is_copied_into_etcd_and_back(member: EtcdMember, tmp_path: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    with Server(folder, "--nodes", "0", in_memory=False) as server:
        made = asked(server, "POST", MAPS, {"metadata": {"name": "kept"}}, 201)
    data, again = folder / "data", tmp_path / "again"
    words = ["--etcd-servers", member.url, "--etcd-prefix", "/copied"]

    def copied(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "doorman", "store", "copy", *arguments, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    there = copied("--from", "data-dir", "--to", "etcd", "--data-dir", str(data))
    assert (there.returncode, there.stderr) == (0, ""), there.stderr
    once_more = copied("--from", "data-dir", "--to", "etcd", "--data-dir", str(data))
    assert (once_more.returncode, "holds objects already" in once_more.stderr) == (1, True)
    back = copied("--from", "etcd", "--to", "data-dir", "--data-dir", str(again))
    assert back.returncode == 0, back.stderr
    (tmp_path / "last").mkdir()
    with Server(tmp_path / "last", "--nodes", "0", "--data-dir", str(again), place=()) as server:
        found = asked(server, "GET", f"{MAPS}/kept")
        assert {**found["metadata"], "resourceVersion": ""} == {**made["metadata"], "resourceVersion": ""}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--etcd-servers", "127.0.0.1:2379"], "takes URLs"),
        (["--etcd-servers", "http://a:1,https://b:2"], "mixes http and https"),
        (["--etcd-servers", "http://a:1", "--in-memory"], "exclude each other"),
        (["--etcd-servers", "http://a:1", "--etcd-servers-overrides", "/events#http://b:1"], "not supported"),
        (["--etcd-servers", "http://a:1", "--storage-media-type", "application/vnd.kubernetes.protobuf"], "never"),
        (["--etcd-servers", "https://a:1", "--etcd-certfile", "x"], "go together"),
    ],
)
def test_flags_that_cannot_be_meant(flags: list[str], words: str) -> None:
    command = [sys.executable, "-m", "doorman", "up", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, words in ended.stderr, "hint: " in ended.stderr) == (2, True, True), ended.stderr


def test_certificate_file_that_is_missing_is_named(tmp_path: Path) -> None:
    url = f"https://127.0.0.1:{free_ports(1)[0]}"
    command = [sys.executable, "-m", "doorman", "up", "--secure-port", "0", "--data-dir", str(tmp_path)]
    flags = ["--etcd-servers", url, "--etcd-cafile", str(tmp_path / "none")]
    ended = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, str(tmp_path / "none") in ended.stderr) == (1, True), ended.stderr
