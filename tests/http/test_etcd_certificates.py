"""An etcd that asks for certificates, and shows one."""

import subprocess
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509

from doorman.base.clock import SystemClock
from support.certificates import FOR_CLIENTS, FOR_SERVERS, Holder, authority, key_pem
from support.etcd import EtcdMember
from support.server import Server, fetch

HOST = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])


class Papers:
    """Everybody's certificates, as files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        now = SystemClock().now()
        self._root, self._stranger = authority("etcd-ca", now=now), authority("somebody-else", now=now)
        self.ca = self._written("ca", self._root)[0]
        self.another_ca = self._written("another-ca", self._stranger)[0]
        self.member = self._written("member", self._root.signs("m", now=now, extensions=(FOR_SERVERS, HOST)))
        self.client = self._written("client", self._root.signs("c", now=now, extensions=(FOR_CLIENTS,)))
        self.strange = self._written("strange", self._stranger.signs("c", now=now, extensions=(FOR_CLIENTS,)))

    def _written(self, name: str, holder: Holder) -> tuple[str, str]:
        certificate, key = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        certificate.write_bytes(holder.pem)
        key.write_bytes(key_pem(holder.key))
        return str(certificate), str(key)


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    return Papers(tmp_path)


@pytest.fixture
def member(tmp_path: Path, papers: Papers) -> Iterator[EtcdMember]:
    certificate, key = papers.member
    tls = ("--cert-file", certificate, "--key-file", key, "--trusted-ca-file", papers.ca, "--client-cert-auth")
    with EtcdMember(tmp_path, "--unsafe-no-fsync", *tls, scheme="https") as running:
        yield running


def flags(member: EtcdMember, ca: str, client: tuple[str, str] | None) -> list[str]:
    shown = ["--etcd-certfile", client[0], "--etcd-keyfile", client[1]] if client else []
    return ["--etcd-servers", member.url, "--etcd-cafile", ca, *shown]


def test_who_shows_a_certificate_is_served(member: EtcdMember, papers: Papers, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    place = [*flags(member, papers.ca, papers.client), "--data-dir", str(own / "keys")]
    with Server(own, "--nodes", "0", *place, place=()) as server:
        maps = "/api/v1/namespaces/default/configmaps"
        assert fetch(server, "POST", maps, body=b'{"metadata":{"name":"kept"}}')[0] == 201
        assert fetch(server, "GET", f"{maps}/kept")[0] == 200


@pytest.mark.parametrize("fault", ["another-authority", "no-certificate", "a-stranger-s-certificate"])
def test_mismatch_is_told_in_a_line_and_waited_for(
    member: EtcdMember, papers: Papers, tmp_path: Path, fault: str
) -> None:
    ca, client = {
        "another-authority": (papers.another_ca, papers.client),
        "no-certificate": (papers.ca, None),
        "a-stranger-s-certificate": (papers.ca, papers.strange),
    }[fault]
    command = [sys.executable, "-m", "doorman", "up", "--secure-port", "0", "--data-dir", str(tmp_path / "keys")]
    with subprocess.Popen([*command, *flags(member, ca, client)], stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        line = waiting.stderr.readline()
        waiting.terminate()
        rest = waiting.stderr.read()
    assert f"waiting for etcd at {member.url}" in line
    assert "hint: it is spoken to with --etcd-cafile" in line
    assert "Traceback" not in rest
