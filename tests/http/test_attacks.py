"""Attacks on connections, TLS and the HTTP parser of a running server: refused, and the server goes on serving."""

import base64
import contextlib
import json
import resource
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.server import Server, fetch

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("server")
    with Server(folder, "--nodes", "0") as running:
        yield running


@pytest.fixture(autouse=True)
def still_serves(server: Server) -> Iterator[None]:
    yield
    assert fetch(server, "GET", "/readyz")[0] == 200


def connect(server: Server, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
    host, port = server.address.removeprefix("https://").split(":")
    plain = socket.create_connection((host, int(port)), timeout=10)
    return (context or trusting(server)).wrap_socket(plain, server_hostname=host)


def trusting(server: Server) -> ssl.SSLContext:
    config = yaml.safe_load(server.kubeconfig.read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    return ssl.create_default_context(cadata=authority)


def token(server: Server) -> str:
    found: str = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]["token"]
    return found


def answer_to(server: Server, raw: bytes) -> bytes:
    """All that comes back until the server closes, or falls silent for a second."""
    with connect(server) as connection:
        connection.settimeout(1)
        received = b""
        try:
            connection.sendall(raw)
            while piece := connection.recv(65536):
                received += piece
        except (TimeoutError, OSError):
            pass
        return received


def head(server: Server, method: str, path: str, *lines: str) -> bytes:
    every = (f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token(server)}", *lines)
    return "\r\n".join(every).encode() + b"\r\n\r\n"


def test_old_tls_is_refused(server: Server) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError):
        connect(server, context)


def test_plain_http_is_not_spoken(server: Server) -> None:
    host, port = server.address.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert b"200" not in connection.recv(1000)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        pytest.param([f"X-Big: {'a' * 300_000}"], b"431", id="one-huge-header"),
        pytest.param([f"X-{number}: {'a' * 1000}" for number in range(400)], b"431", id="many-headers"),
        pytest.param(["Content-Length: 5", "Transfer-Encoding: chunked"], b"400", id="two-lengths"),
        pytest.param(["Content-Length: 5", "Content-Length: 6"], b"400", id="two-content-lengths"),
        pytest.param(["Content-Length: -1"], b"400", id="negative-length"),
        pytest.param(["Transfer-Encoding: xchunked"], b"400", id="unknown-coding"),
        pytest.param(["X-A: b\x00c"], b"400", id="zero-byte"),
        pytest.param(["X-A : b"], b"400", id="space-before-colon"),
        pytest.param(["X-A: b", " folded: c"], b"400", id="folded-line"),
        pytest.param(["Transfer-Encoding: chunked, identity"], b"400", id="chunked-not-last"),
        pytest.param(["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], b"400", id="two-codings"),
        pytest.param(["Content-Length: 5, 6"], b"400", id="list-of-lengths"),
        pytest.param(["Content-Length: +5"], b"400", id="signed-length"),
        pytest.param(["Content-Length: 0x5"], b"400", id="hexadecimal-length"),
        pytest.param(["X-A: b\rX-B: c"], b"400", id="bare-carriage-return"),
    ],
)
def test_heads_that_are_no_heads(server: Server, lines: list[str], status: bytes) -> None:
    answer = answer_to(server, head(server, "POST", PODS, *lines) + b"0\r\n\r\nGET /api/v1/nodes HTTP/1.1\r\n\r\n")
    assert answer.split(b"\r\n")[0].split(b" ")[1:2] == [status], answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1, "what was smuggled along is not answered"


def test_url_without_end(server: Server) -> None:
    answer = answer_to(server, head(server, "GET", f"{PODS}?labelSelector={'a' * 100_000}"))
    assert answer.startswith(b"HTTP/1.1 414 ")


def test_half_a_body_does_nothing(server: Server) -> None:
    """A YAML document is valid at many a place at which it may be cut off."""
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: half\ndata:\n  a: b\n"
    lines = ("Content-Type: application/yaml", f"Content-Length: {len(body) + 100}")
    with connect(server) as connection:
        connection.sendall(head(server, "POST", "/api/v1/namespaces/default/configmaps", *lines) + body)
        fetch(server, "GET", "/healthz")  # an answer later the server has read what came before
    for _ in range(5):
        fetch(server, "GET", "/healthz")
    assert fetch(server, "GET", "/api/v1/namespaces/default/configmaps/half")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default%2F..%2Fkube-system/secrets",
        "/api/v1/namespaces/default/pods%2F..%2F..%2Fkube-system%2Fsecrets",
        "/api/v1/namespaces/%2e%2e/secrets",
        "/api/v1/namespaces/default/secrets%00",
        "/api/v1/namespaces/default/%252e%252e/secrets",
        "/%61pi/v1/namespaces/kube-system/secrets",
    ],
)
def test_encoded_paths_mean_what_they_say(server: Server, path: str) -> None:
    """Somebody who may read secrets in `default` only reads none elsewhere, however it is written."""
    rules = [{"apiGroups": [""], "resources": ["*"], "verbs": ["*"]}]
    group = "rbac.authorization.k8s.io"
    role = {"metadata": {"name": "r"}, "rules": rules}
    subject = {"kind": "User", "apiGroup": group, "name": "jane"}
    ref = {"apiGroup": group, "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "r"}, "roleRef": ref, "subjects": [subject]}
    for plural, body in (("roles", role), ("rolebindings", binding)):
        fetch(server, "POST", f"/apis/{group}/v1/namespaces/default/{plural}", body=json.dumps(body).encode())
    status, _, _ = fetch(server, "GET", path, headers={"Impersonate-User": "jane"})
    assert status in (400, 403, 404, 405)


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_idle_connections_do_not_keep_others_out(server: Server, count: int) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < count + 200:
        pytest.skip("this system does not let one process have so many connections")
    idle = []
    try:
        host, port = server.address.removeprefix("https://").split(":")
        for _ in range(count):
            idle.append(socket.create_connection((host, int(port)), timeout=5))  # noqa: PERF401  closed one by one
        assert fetch(server, "GET", "/api/v1/nodes")[0] == 200
    finally:
        for connection in idle:
            connection.close()
