"""Certificates over real connections: from a request to a user, and those of other authorities."""

import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from doorman.api.well_known import KUBE_APISERVER_CLIENT_SIGNER
from doorman.controllers.certificates.signer_rules import KUBELET_CLIENT, KUBELET_SERVING
from support.certificates import CLIENT_USAGES, SERVER_USAGES, key_pem, made_key, made_request, request_body
from support.server import Server, fetch

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--nodes", "1") as server:
        yield server


def call(server: Server, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
    status, _, raw = fetch(server, method, path, body=None if body is None else json.dumps(body).encode(), **options)
    return status, json.loads(raw)


def as_holder(server: Server, folder: Path, certificate: bytes, key: bytes, path: str) -> tuple[int, Any]:
    """A request with a client certificate and nothing else."""
    file = folder / "holder.pem"
    file.write_bytes(certificate + key)
    config = yaml.safe_load(server.kubeconfig.read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    context.load_cert_chain(file)
    host, _, port = server.address.removeprefix("https://").partition(":")
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def wait_for(server: Server, name: str, field: str) -> dict[str, Any]:
    """The status of a request, once it has a field: watched, not polled."""
    path = f"{REQUESTS}?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds=20"
    for line in fetch_lines(server, path):
        status: dict[str, Any] = json.loads(line)["object"].get("status", {})
        if status.get(field):
            return status
    raise AssertionError(f"{name} never had {field}")


def fetch_lines(server: Server, path: str) -> Iterator[bytes]:
    config = yaml.safe_load(server.kubeconfig.read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    host, _, port = server.address.removeprefix("https://").partition(":")
    context = ssl.create_default_context(cadata=authority)
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=20)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {config['users'][0]['user']['token']}"})
        answer = connection.getresponse()
        while line := answer.readline():
            yield line
    finally:
        connection.close()


def approve(server: Server, name: str) -> None:
    _, found = call(server, "GET", f"{REQUESTS}/{name}")
    condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
    found["status"] = {"conditions": [condition]}
    status, answer = call(server, "PUT", f"{REQUESTS}/{name}/approval", found)
    assert status == 200, answer


def test_request_approval_certificate_user(server: Server, tmp_path: Path) -> None:
    key = made_key()
    body = request_body("ada", made_request("ada", "dev", key=key), KUBE_APISERVER_CLIENT_SIGNER, CLIENT_USAGES)
    assert call(server, "POST", REQUESTS, body)[0] == 201
    approve(server, "ada")
    certificate = base64.b64decode(wait_for(server, "ada", "certificate")["certificate"])
    status, answer = as_holder(server, tmp_path, certificate, key_pem(key), "/api/v1/pods")
    assert status == 403
    assert 'User "ada" cannot list resource "pods"' in answer["message"]
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "dev"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "Group", "apiGroup": group, "name": "dev"}],
    }
    assert call(server, "POST", f"{RBAC}/clusterrolebindings", binding)[0] == 201
    assert as_holder(server, tmp_path, certificate, key_pem(key), "/api/v1/pods")[0] == 200


def test_kubelet_that_may_is_approved_and_signed_by_itself(server: Server, tmp_path: Path) -> None:
    group = "rbac.authorization.k8s.io"
    role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
    binding = {
        "metadata": {"name": "self"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "Group", "apiGroup": group, "name": "system:nodes"}],
    }
    assert call(server, "POST", f"{RBAC}/clusterrolebindings", binding)[0] == 201
    key = made_key()
    body = request_body(
        "kubelet", made_request("system:node:n9", "system:nodes", key=key), KUBELET_CLIENT, CLIENT_USAGES
    )
    who = {"Impersonate-User": "system:node:n9", "Impersonate-Group": "system:nodes"}
    assert call(server, "POST", REQUESTS, body, headers=who)[0] == 201
    status = wait_for(server, "kubelet", "certificate")
    assert [one["reason"] for one in status["conditions"]] == ["AutoApproved"]
    certificate = base64.b64decode(status["certificate"])
    found, answer = as_holder(server, tmp_path, certificate, key_pem(key), "/api/v1/nodes")
    assert found == 403
    assert "node 'n9' cannot read all nodes" in answer["message"]


def test_kubelet_serving_waits_for_approval_and_is_for_servers(server: Server) -> None:
    request = made_request("system:node:n9", "system:nodes", dns=["n9"], addresses=["10.0.0.9"])
    body = request_body("serving", request, KUBELET_SERVING, SERVER_USAGES)
    assert call(server, "POST", REQUESTS, body)[0] == 201
    approve(server, "serving")
    certificate = x509.load_pem_x509_certificate(
        base64.b64decode(wait_for(server, "serving", "certificate")["certificate"])
    )
    purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n9"]


def test_what_the_signer_cannot_grant_fails(server: Server) -> None:
    body = request_body("bad", made_request("ada", "dev"), KUBELET_CLIENT, CLIENT_USAGES)
    assert call(server, "POST", REQUESTS, body)[0] == 201
    approve(server, "bad")
    for line in fetch_lines(server, f"{REQUESTS}?watch=true&fieldSelector=metadata.name%3Dbad&timeoutSeconds=20"):
        conditions = json.loads(line)["object"]["status"].get("conditions", ())
        failed = [one for one in conditions if one["type"] == "Failed"]
        if failed:
            assert failed[0]["reason"] == "SignerValidationFailure"
            assert failed[0]["message"] == "subject organization is not system:nodes"
            return
    raise AssertionError("never failed")
