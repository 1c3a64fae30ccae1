"""A kube-apiserver, unmodified, and a Doorman over one etcd, to be asked the same.

Needs the binary: `scripts/test-reference FOLDER`, with kube-apiserver in the folder.
"""

import contextlib
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

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.etcd import EtcdMember, free_ports
from support.server import Server, fetch

BINARY = Path(os.environ.get("DOORMAN_REFERENCE_BIN", "")) / "kube-apiserver"
TOKEN = "reference"
READY_SECONDS_MAX = 120
TYPES = {"PATCH": "application/merge-patch+json"}
ALL_OF_THE_KIT = (
    "--feature-gates=TaintTolerationComparisonOperators=true",
    "--enable-admission-plugins=ExtendedResourceToleration,PodTolerationRestriction,NodeRestriction",
)
"""Flags of a server that the conformance kit is run on."""


def to_json(body: Any) -> bytes:
    """Without white space: a patch is refused where parameters of a device have some. Bytes are sent as they are."""
    return body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()


class KubeApiserver:
    def __init__(self, folder: Path, etcd: str, *more: str) -> None:
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
            f"--service-account-key-file={folder / 'sa.key'}", "--authorization-mode=Node,RBAC",
            "--storage-media-type=application/json", "--service-cluster-ip-range=10.0.0.0/16",
            "--allow-privileged=true", "--runtime-config=api/all=true", *more,
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

    def kubeconfig(self) -> str:
        cluster = {"server": self.address, "insecure-skip-tls-verify": True}
        return json.dumps(
            {
                "clusters": [{"name": "reference", "cluster": cluster}],
                "users": [{"name": "admin", "user": {"token": TOKEN}}],
                "contexts": [{"name": "reference", "context": {"cluster": "reference", "user": "admin"}}],
                "current-context": "reference",
            }
        )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def ask(self, method: str, path: str, body: Any = None, media_type: str = "") -> tuple[int, Any]:
        data = None if body is None else to_json(body)
        media_type = media_type or TYPES.get(method, "application/json")
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": media_type}
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

    def ask(self, number: int, method: str, path: str, body: Any = None, media_type: str = "") -> tuple[int, Any]:
        """0: Doorman, 1: the reference."""
        if number:
            return self.reference.ask(method, path, body, media_type)
        data = None if body is None else to_json(body)
        headers = {"Content-Type": media_type or TYPES.get(method, "application/json")}
        status, _, answer = fetch(self.doorman, method, path, body=data, headers=headers)
        return status, json.loads(answer)

    def together(self, path: str, bodies: list[list[Any]]) -> list[list[tuple[int, Any]]]:
        answers: list[list[tuple[int, Any]]] = [[], []]
        barrier = threading.Barrier(2)

        def ask(number: int) -> None:
            barrier.wait()
            for body in bodies[number]:
                answers[number].append(self.ask(number, "POST", path, body))

        threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers


@contextlib.contextmanager
def both_over(folder: Path, member: EtcdMember, *flags: str, components: bool = False) -> Iterator[Both]:
    """`flags` are for both of them; the components are Doorman's, if there are any."""
    reference = KubeApiserver(folder / "reference", member.url, *flags)
    try:
        reference.wait()
        place = ["--etcd-servers", member.url, "--data-dir", str(folder / "keys"), "--advertise-address", "192.0.2.9"]
        wanted = ["--nodes", "0"] if components else ["--components=false"]
        with Server(folder, *place, *wanted, *flags, place=()) as doorman:
            yield Both(reference, doorman)
    finally:
        reference.stop()
