"""Client certificates nobody here vouches for, over real connections: a 401 for each, and never a user."""

import base64
import http.client
import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from support.certificates import FOR_CLIENTS, FOR_SERVERS, Holder, authority, key_pem
from support.server import Server

MASTERS = "system:masters"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
UNAUTHORIZED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Unauthorized",
    "reason": "Unauthorized",
    "code": 401,
}
CA = x509.BasicConstraints(ca=True, path_length=None)
NOW = time.time()


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--nodes", "0", in_memory=False) as server:
        yield server


@pytest.fixture(name="root", scope="module")
def _root(server: Server) -> Holder:
    """The authority of the server."""
    folder = server.kubeconfig.parent / "data" / "pki"
    key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    return Holder(x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes()), key)  # type: ignore[arg-type]


class Client:
    """Connections with a certificate, of one TLS version."""

    def __init__(self, server: Server, file: Path, version: ssl.TLSVersion) -> None:
        config = yaml.safe_load(server.kubeconfig.read_text())
        trusted = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=trusted)
        self._context.minimum_version = self._context.maximum_version = version
        self._context.load_cert_chain(file)
        host, _, port = server.address.removeprefix("https://").partition(":")
        self._place = (host, int(port))
        self.token = config["users"][0]["user"]["token"]
        self.session: ssl.SSLSession | None = None
        self.is_resumed = False

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self.ask("GET", path, None, headers)

    def who(self, **headers: str) -> tuple[int, Any]:
        status, answer = self.ask("POST", WHO, b"{}", {"Content-Type": "application/json", **headers})
        return status, answer["status"]["userInfo"]["username"] if status == 201 else answer

    def ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(*self._place, context=self._context, timeout=20)
        connection.connect()
        if self.session is not None:
            connection.sock.close()
            plain = http.client.HTTPConnection(*self._place, timeout=20)
            plain.connect()
            connection.sock = self._context.wrap_socket(
                plain.sock, server_hostname=self._place[0], session=self.session
            )
            self.is_resumed = bool(connection.sock.session_reused)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            raw = answer.read()
            self.session = connection.sock.session  # type: ignore[union-attr]  # TLS 1.3 tickets came with the answer
        finally:
            connection.close()
        return answer.status, json.loads(raw) if raw.startswith(b"{") else raw.decode()


def written(folder: Path, holder: Holder, *others: Holder) -> Path:
    file = folder / "holder.pem"
    file.write_bytes(b"".join(one.pem for one in (holder, *others)) + key_pem(holder.key))
    return file


def tampered(holder: Holder) -> Holder:
    der = bytearray(holder.der)
    der[-5] ^= 1
    return Holder(x509.load_der_x509_certificate(bytes(der)), holder.key)


def attacks(root: Holder) -> dict[str, tuple[Holder, ...]]:
    """What is shown, the client's own certificate first. Each says it is an administrator."""
    twin = authority("doorman-ca", now=NOW)
    client = root.signs("jane", now=NOW)
    server = root.signs("kubelet", now=NOW, extensions=(FOR_SERVERS,))
    who = ("admin", MASTERS)
    return {
        "another-authority": (authority("elsewhere", now=NOW).signs(*who, now=NOW),),
        "another-authority-of-our-name": (twin.signs(*who, now=NOW),),
        "another-authority-of-our-name-sent-along": (twin.signs(*who, now=NOW), twin),
        "our-authority-sent-along": (twin.signs(*who, now=NOW), root),
        "self-signed-with-our-name": (twin,),
        "signed-by-a-client": (client.signs(*who, now=NOW), client),
        "signed-by-a-server": (server.signs(*who, now=NOW), server),
        "expired": (root.signs(*who, now=NOW, hours=(-2, -1)),),
        "of-the-future": (root.signs(*who, now=NOW, hours=(1, 2)),),
        "for-servers-only": (root.signs(*who, now=NOW, extensions=(FOR_SERVERS,)),),
        "signature-changed": (tampered(root.signs(*who, now=NOW)),),
        "authority-for-servers": chain_below(root, CA, FOR_SERVERS),
        "critical-and-unknown": (
            root.signs(
                *who,
                now=NOW,
                extensions=(x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00"),),
                critical=True,
            ),
        ),
    }


def chain_below(root: Holder, *extensions: x509.ExtensionType) -> tuple[Holder, Holder]:
    between = root.signs("between", now=NOW, extensions=extensions)
    return between.signs("jane", MASTERS, now=NOW), between


@pytest.fixture(name="version", params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["tls-1.2", "tls-1.3"])
def _version(request: pytest.FixtureRequest) -> ssl.TLSVersion:
    version: ssl.TLSVersion = request.param
    return version


NAMES = sorted(attacks(authority(now=NOW)))


@pytest.mark.parametrize("name", NAMES)
def test_attack_is_unauthorized(
    server: Server, root: Holder, tmp_path: Path, version: ssl.TLSVersion, name: str
) -> None:
    client = Client(server, written(tmp_path, *attacks(root)[name]), version)
    for path in ("/api/v1/nodes", "/apis", "/healthz", "/livez", "/readyz", "/version", "/nowhere"):
        assert client.get(path) == (401, UNAUTHORIZED), path
    assert client.get("/api/v1/nodes", Authorization="Bearer nonsense") == (401, UNAUTHORIZED)
    assert client.get("/api/v1/nodes", Authorization="Basic YWRtaW46YWRtaW4=") == (401, UNAUTHORIZED)
    assert client.get("/api/v1/nodes", **{"Impersonate-User": "admin"}) == (401, UNAUTHORIZED)
    assert client.who(Authorization=f"Bearer {client.token}") == (201, "admin"), "another credential still counts"


@pytest.mark.parametrize("name", ["another-authority-of-our-name", "expired"])
def test_session_taken_up_again_is_as_unauthorized(
    server: Server, root: Holder, tmp_path: Path, version: ssl.TLSVersion, name: str
) -> None:
    """Neither a token nor an answer makes a session trusted."""
    client = Client(server, written(tmp_path, *attacks(root)[name]), version)
    assert client.who(Authorization=f"Bearer {client.token}") == (201, "admin")
    assert client.who() == (401, UNAUTHORIZED)
    assert client.is_resumed, "or this shows nothing"
    assert client.get("/healthz") == (401, UNAUTHORIZED)


@pytest.mark.parametrize(
    "extensions",
    [pytest.param((FOR_CLIENTS,), id="for-clients"), pytest.param((), id="no-usage-named")],
)
def test_certificate_of_ours(
    server: Server, root: Holder, tmp_path: Path, version: ssl.TLSVersion, extensions: tuple[x509.ExtensionType, ...]
) -> None:
    jane = root.signs("jane", "dev", now=NOW, extensions=extensions)
    client = Client(server, written(tmp_path, jane), version)
    assert client.who() == (201, "jane")
    assert client.who() == (201, "jane")
    assert client.is_resumed
    assert client.who(Authorization="Bearer nonsense") == (201, "jane"), "the first credential that counts"


def test_certificate_by_an_authority_below_ours(
    server: Server, root: Holder, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    jane, between = chain_below(root, CA)
    client = Client(server, written(tmp_path, jane, between), version)
    assert client.who() == (201, "jane")
    assert client.who() == (201, "jane")
    assert client.is_resumed
    alone = Client(server, written(tmp_path, jane), version)
    assert alone.who() == (401, UNAUTHORIZED)


def test_company_does_not_spoil_a_good_certificate(
    server: Server, root: Holder, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    stranger = authority("stranger", now=NOW)
    shown = (root.signs("jane", now=NOW), tampered(stranger), stranger.signs("x", now=NOW), root)
    assert Client(server, written(tmp_path, *shown), version).who() == (201, "jane")


def test_certificate_without_a_name_is_nobody(server: Server, root: Holder, tmp_path: Path) -> None:
    client = Client(server, written(tmp_path, root.signs("", MASTERS, now=NOW)), ssl.TLSVersion.TLSv1_3)
    assert client.get("/healthz") == (200, "ok")
    status, answer = client.get("/api/v1/nodes")
    assert (status, answer["message"].split('"')[1]) == (403, "system:anonymous")


def test_kubectl_with_a_foreign_certificate(server: Server, tmp_path: Path) -> None:
    foreign = authority("elsewhere", now=NOW).signs("admin", MASTERS, now=NOW)
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {
        "client-certificate-data": base64.b64encode(foreign.pem).decode(),
        "client-key-data": base64.b64encode(key_pem(foreign.key)).decode(),
    }
    file = tmp_path / "foreign"
    file.write_text(yaml.safe_dump(config))
    assert server.kubectl("get", "pods").returncode == 0, "from here on kubectl knows what is served"
    result = server.kubectl("--kubeconfig", str(file), "get", "pods")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "error: You must be logged in to the server (Unauthorized)"
