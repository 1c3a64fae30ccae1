"""A kube-apiserver, unmodified, and a Doorman over one etcd: what they share they share as equals.

Needs the binary: `scripts/test-reference FOLDER`, with kube-apiserver in the folder.
"""

import json
import os
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.etcd import EtcdMember, free_ports
from support.server import Server, fetch

BINARY = Path(os.environ["DOORMAN_REFERENCE_BIN"]) / "kube-apiserver"
SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
TOKEN = "reference"
READY_SECONDS_MAX = 120
EACH = 40


class KubeApiserver:
    def __init__(self, folder: Path, etcd: str) -> None:
        folder.mkdir()
        [port] = free_ports(1)
        self.address = f"https://127.0.0.1:{port}"
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        form = serialization.PrivateFormat.TraditionalOpenSSL
        (folder / "sa.key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        )
        (folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
        flags = [
            f"--etcd-servers={etcd}", f"--secure-port={port}", "--bind-address=127.0.0.1",
            "--advertise-address=192.0.2.1", f"--cert-dir={folder / 'certs'}",
            f"--token-auth-file={folder / 'tokens.csv'}", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            f"--service-account-key-file={folder / 'sa.key'}", "--authorization-mode=RBAC",
            "--storage-media-type=application/json", "--service-cluster-ip-range=10.0.0.0/16",
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen([BINARY, *flags], stdout=log, stderr=log)

    def wait(self) -> None:
        pause = threading.Event()
        for _ in range(READY_SECONDS_MAX * 5):
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, "it has ended"
            pause.wait(0.2)
        raise AssertionError("kube-apiserver is not ready")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data=data, method=method, headers=headers)
        context = ssl._create_unverified_context()
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                found = answer.read()
                return answer.status, json.loads(found) if found[:1] in (b"{", b"[") else found
        except urllib.error.HTTPError as error:
            with error:
                found = error.read()
                return error.code, json.loads(found) if found[:1] == b"{" else found


class Both:
    def __init__(self, reference: KubeApiserver, doorman: Server) -> None:
        self.reference = reference
        self.doorman = doorman

    def ask(self, number: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """0: Doorman, 1: the reference."""
        if number:
            return self.reference.ask(method, path, body)
        status, _, answer = fetch(self.doorman, method, path, body=None if body is None else json.dumps(body).encode())
        return status, json.loads(answer)

    def together(self, bodies: list[list[Any]]) -> list[list[tuple[int, Any]]]:
        answers: list[list[tuple[int, Any]]] = [[], []]
        barrier = threading.Barrier(2)

        def ask(number: int) -> None:
            barrier.wait()
            for body in bodies[number]:
                answers[number].append(self.ask(number, "POST", SERVICES, body))

        threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("both")
    with EtcdMember(folder, "--unsafe-no-fsync") as member:
        reference = KubeApiserver(folder / "reference", member.url)
        try:
            reference.wait()
            place = ["--etcd-servers", member.url, "--data-dir", str(folder / "keys"), "--components=false"]
            with Server(folder, *place, "--advertise-address", "192.0.2.9", place=()) as doorman:
                yield Both(reference, doorman)
        finally:
            reference.process.terminate()
            reference.process.wait(60)


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}], **spec}}


def test_addresses_and_ports_are_given_out_once(both: Both) -> None:
    answers = both.together([[service(f"{letter}{number}") for number in range(EACH)] for letter in "dk"])
    assert {status for one in answers for status, _ in one} == {201}
    specs = [doc["spec"] for one in answers for _, doc in one]
    assert len({spec["clusterIP"] for spec in specs}) == 2 * EACH
    assert all(spec["clusterIP"].startswith("10.0.") for spec in specs), "from the range there is"
    assert len({spec["ports"][0]["nodePort"] for spec in specs}) == 2 * EACH
    for number in (0, 1):
        listed = both.ask(number, "GET", ADDRESSES)[1]["items"]
        assert {spec["clusterIP"] for spec in specs} <= {one["metadata"]["name"] for one in listed}


def test_of_two_who_ask_for_the_same_one_gets_it(both: Both) -> None:
    def wishes(letter: str) -> list[Any]:
        return [
            service(f"{letter}-wish{n}", clusterIP=f"10.0.0.{n + 20}", ports=[{"port": 80, "nodePort": 30000 + n}])
            for n in range(EACH)
        ]

    for (first, one), (second, other) in zip(*both.together([wishes("d"), wishes("k")]), strict=True):
        assert sorted((first, second)) == [201, 422], (one, other)


def test_what_one_gives_back_the_other_gives_out(both: Both) -> None:
    wish = service("given", clusterIP="10.0.0.200", ports=[{"port": 80, "nodePort": 30080}])
    for here, there in ((0, 1), (1, 0)) * 2:
        assert both.ask(here, "POST", SERVICES, wish)[0] == 201
        assert both.ask(there, "POST", SERVICES, {**wish, "metadata": {"name": "other"}})[0] == 422
        assert both.ask(there, "DELETE", f"{SERVICES}/given")[0] == 200


def test_both_are_behind_the_service(both: Both) -> None:
    pause = threading.Event()
    for _ in range(150):
        found = [one["ip"] for subset in both.ask(1, "GET", ENDPOINTS)[1]["subsets"] for one in subset["addresses"]]
        if found == ["192.0.2.1", "192.0.2.9"]:
            return
        pause.wait(0.2)
    raise AssertionError(found)
