"""Bad input over HTTP: a Status with reason and message, and nothing changes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server, fetch

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("server")
    with Server(folder, "--nodes", "1") as running:
        yield running


def pod(**spec: object) -> bytes:
    containers = [{"name": "c", "image": "i"}]
    doc = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}
    return json.dumps(doc).encode()


TWICE = pod().replace(b'"kind": "Pod"', b'"kind": "Pod", "kind": "Pod"')


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "reason", "words"),
    [
        pytest.param("POST", PODS, b"{", {}, 400, "BadRequest", "unrecognized", id="malformed-json"),
        pytest.param("POST", PODS, b"", {}, 400, "BadRequest", "<empty>", id="empty-body"),
        pytest.param("POST", PODS, b"[1]", {}, 400, "BadRequest", "unrecognized", id="not-an-object"),
        pytest.param(
            "POST", PODS, b"a: [", {"Content-Type": "application/yaml"}, 400, "BadRequest", "yaml", id="malformed-yaml"
        ),
        pytest.param(
            "POST", PODS, b"a: &x [1]\nb: [*x,*x]", {"Content-Type": "application/yaml"}, 400, "BadRequest",
            "aliases are not supported", id="yaml-alias-bomb",
        ),
        pytest.param(
            "POST", PODS, pod(tolerations="x"), {}, 400, "BadRequest", "cannot unmarshal string", id="wrong-type"
        ),
        pytest.param(
            "POST", PODS + "?fieldValidation=Strict", pod(nope=1), {}, 400, "BadRequest",
            'strict decoding error: unknown field "spec.nope"', id="unknown-field-strict",
        ),
        pytest.param(
            "POST", PODS + "?fieldValidation=Strict", TWICE, {}, 400, "BadRequest",
            'duplicate field "kind"', id="duplicate-field-strict",
        ),
        pytest.param(
            "POST", PODS, pod(tolerations=[{"key": "k", "operator": "In"}]), {}, 422, "Invalid",
            "spec.tolerations[0].operator: Unsupported value", id="bad-operator",
        ),
        pytest.param("POST", PODS, b" " * 3145729, {}, 413, "RequestEntityTooLarge", "is 3145728", id="huge-body"),
        pytest.param("POST", PODS, b"[" * 100000, {}, 400, "BadRequest", "unrecognized", id="deeply-nested"),
        pytest.param("GET", "/api/v1/nopes", None, {}, 404, "NotFound", "could not find", id="unknown-resource"),
        pytest.param("GET", "/api/v1/nodes/%2e%2e", None, {}, 404, "NotFound", "not found", id="encoded-dots"),
        pytest.param("PUT", "/api/v1/nodes", b"{}", {}, 405, "MethodNotAllowed", "does not allow", id="wrong-method"),
        pytest.param("GET", PODS + "?labelSelector=a%3D%3D%3Db", None, {}, 400, "BadRequest", "", id="bad-labels"),
        pytest.param(
            "GET", PODS + "?fieldSelector=spec.nope%3D1", None, {}, 400, "BadRequest",
            "field label not supported: spec.nope", id="bad-field",
        ),
        pytest.param("GET", PODS + "?limit=x", None, {}, 400, "BadRequest", "invalid syntax", id="bad-limit"),
        pytest.param("GET", PODS + "?continue=%21", None, {}, 400, "BadRequest", "continue", id="bad-token"),
        pytest.param("GET", PODS + "?resourceVersion=x", None, {}, 400, "BadRequest", "version", id="bad-version"),
        pytest.param("POST", PODS, b"x", {"Content-Type": "a/b"}, 415, "UnsupportedMediaType", "", id="bad-media"),
        pytest.param("GET", PODS, None, {"Accept": "text/html"}, 406, "NotAcceptable", "", id="bad-accept"),
        pytest.param(
            "PATCH", "/api/v1/nodes/node-1", b'[{"op":"test","path":"/metadata/name","value":"x"}]',
            {"Content-Type": "application/json-patch+json"}, 422, "Invalid", "", id="failed-json-patch-test",
        ),
        pytest.param(
            "PATCH", "/api/v1/nodes/node-1", b'{"spec":{"taints":[{"key":"a","effect":"Bad"}]}}',
            {"Content-Type": "application/merge-patch+json"}, 422, "Invalid",
            "metadata.taints[0].effect: Unsupported value", id="bad-taint",
        ),
    ],
)  # fmt: skip
def test_bad_request_gets_a_status_and_changes_nothing(
    server: Server,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
    status: int,
    reason: str,
    words: str,
) -> None:
    before = fetch(server, "GET", "/api/v1/nodes/node-1")[2], fetch(server, "GET", PODS)[2]
    sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    code, _, answer = fetch(server, method, path, body=body, headers=sent)
    found = json.loads(answer)
    assert (code, found["kind"], found["status"], found["reason"]) == (status, "Status", "Failure", reason)
    assert found["code"] == status
    assert words in found["message"]
    after = fetch(server, "GET", "/api/v1/nodes/node-1")[2], fetch(server, "GET", PODS)[2]
    assert _content(after) == _content(before)


def _content(answers: tuple[bytes, bytes]) -> tuple[object, object]:
    node, pods = (json.loads(answer) for answer in answers)
    return node["spec"], pods["items"]


def test_wrong_token_is_401(server: Server) -> None:
    code, _, answer = fetch(server, "GET", "/api/v1/nodes", token="wrong")
    assert code == 401
    assert json.loads(answer)["reason"] == "Unauthorized"


def test_no_credentials_may_read_health_and_version_only(server: Server) -> None:
    assert fetch(server, "GET", "/healthz", token=None)[2] == b"ok"
    assert fetch(server, "GET", "/version", token=None)[0] == 200
    assert fetch(server, "GET", "/api/v1/nodes", token=None)[0] == 403


def test_unknown_field_is_warned_about_by_default(server: Server) -> None:
    code, headers, _ = fetch(server, "POST", PODS + "?dryRun=All", body=pod(nope=1), headers={})
    assert code == 201
    assert headers["warning"] == '299 - "unknown field \\"spec.nope\\""'
