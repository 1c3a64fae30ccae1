"""What the API answers at its edges: odd paths, bodies that nearly fit, tokens nobody gave out."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.server import Server, fetch

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
NO_SUCH_RESOURCE = "the server could not find the requested resource"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("server")
    with Server(folder, "--nodes", "0") as running:
        yield running


def ask(server: Server, method: str, path: str, body: Any = None, media: str = "application/json") -> tuple[int, Any]:
    sent = None if body is None else json.dumps(body).encode()
    status, _, answer = fetch(server, method, path, body=sent, headers={"Content-Type": media})
    return status, json.loads(answer)


def create_pod(server: Server, name: str, **spec: Any) -> Any:
    pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    status, made = ask(server, "POST", PODS, pod)
    assert status == 201, made
    return made


@pytest.mark.parametrize(
    ("path", "status"),
    [
        pytest.param("/api/v1/namespaces/default/nodes", 404, id="nodes-of-a-namespace"),
        pytest.param("/api/v1/namespaces/default/nodes/n", 404, id="a-node-of-a-namespace"),
        pytest.param("/api/v1/namespaces/default/namespaces", 404, id="namespaces-of-a-namespace"),
        pytest.param("/api/v1/pods/p", 404, id="a-pod-of-no-namespace"),
        pytest.param("/api/v1/pods/p/status", 404, id="its-status"),
        pytest.param("/api/v1/namespaces/default", 200, id="a-namespace"),
        pytest.param("/api/v1/namespaces/default/status", 200, id="status-of-a-namespace"),
    ],
)
def test_path_fits_the_scope_of_its_kind(server: Server, path: str, status: int) -> None:
    found, answer = ask(server, "GET", path)
    assert found == status
    if status == 404:
        assert answer["message"] == NO_SUCH_RESOURCE


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"metadata": {"name": "other"}}, "the name of the object (other) does not match", id="other-name"),
        pytest.param({}, "the name of the object (ghost based on URL) was undeterminable", id="no-name"),
    ],
)
def test_name_in_a_put_comes_before_whether_it_exists(server: Server, body: Any, message: str) -> None:
    status, answer = ask(server, "PUT", f"{NODES}/ghost", body)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert answer["message"].startswith(message)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        pytest.param(None, 422, 'Node "" is invalid: metadata.name: Required value', id="null"),
        pytest.param([], 400, "the object provided is unrecognized (must be of type Node)", id="list"),
        pytest.param({"kind": "Pod"}, 400, 'Pod in version "v1" cannot be handled as a Node: converting', id="kind"),
        pytest.param({"kind": 1}, 400, "the object provided is unrecognized", id="kind-of-a-number"),
        pytest.param(
            {"apiVersion": "v2"},
            400,
            'Node in version "v2" cannot be handled as a Node: no kind "Node" is',
            id="version",
        ),
    ],
)
def test_body_that_is_no_node(server: Server, body: Any, status: int, message: str) -> None:
    found, _, text = fetch(server, "POST", NODES, body=json.dumps(body).encode())
    answer = json.loads(text)
    assert found == status
    assert answer["message"].startswith(message)


def test_version_that_is_known_but_not_served_here(server: Server) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    status, answer = ask(server, "POST", path, {"kind": "Deployment", "apiVersion": "apps/v1beta1"})
    assert status == 400
    assert answer["message"] == (
        "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)"
    )


@pytest.mark.parametrize(
    ("token", "fault"),
    [
        pytest.param({}, "server does not recognize this encoded version", id="empty"),
        pytest.param({"v": "meta.k8s.io/v2"}, "server does not recognize this encoded version", id="version"),
        pytest.param(
            {"v": "meta.k8s.io/v1", "start": "a"}, "incorrect encoded start resourceVersion", id="no-revision"
        ),
        pytest.param({"v": "meta.k8s.io/v1", "rv": 1}, "encoded start key empty", id="no-start"),
        pytest.param({"v": "meta.k8s.io/v1", "rv": 1, "start": "../a"}, "../a", id="way-up"),
    ],
)
def test_token_that_no_list_gave_out(server: Server, token: Any, fault: str) -> None:
    text = base64.urlsafe_b64encode(json.dumps(token).encode()).decode().rstrip("=")
    status, answer = ask(server, "GET", f"{NODES}?continue={text}")
    assert status == 400
    assert answer["message"].startswith(f"invalid continue token: continue key is not valid: {fault}")


def test_options_are_told_wrong_all_at_once(server: Server) -> None:
    status, answer = ask(server, "POST", f"{NODES}?dryRun=x&fieldValidation=y&fieldManager=%07", {})
    assert status == 422
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["fieldManager", "dryRun", "fieldValidation"]


def test_match_that_a_watch_does_not_know(server: Server) -> None:
    status, answer = ask(server, "GET", f"{NODES}?watch=1&resourceVersion=1&resourceVersionMatch=Exact")
    assert status == 422
    reasons = [cause["reason"] for cause in answer["details"]["causes"]]
    assert reasons == ["FieldValueForbidden", "FieldValueNotSupported"]


@pytest.mark.parametrize("subresource", ["binding", "eviction"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({}, "name in URL does not match name in", id="no-name"),
        pytest.param({"metadata": {"name": "x"}}, "name in URL does not match name in", id="other-name"),
        pytest.param(
            {"metadata": {"name": "posted", "namespace": "x"}},
            "the namespace of the provided object does not match the namespace sent on the request",
            id="other-namespace",
        ),
        pytest.param({"apiVersion": "nobody/v7"}, "", id="version"),
        pytest.param({"kind": "Pod", "apiVersion": "v1"}, 'Pod in version "v1" cannot be handled as a', id="kind"),
    ],
)
def test_posted_for_a_pod_by_mistake(server: Server, subresource: str, body: Any, message: str) -> None:
    status, answer = ask(server, "POST", f"{PODS}/posted/{subresource}", body)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert message in answer["message"]


def test_unknown_field_of_a_binding(server: Server) -> None:
    body = {"metadata": {"name": "p"}, "target": {"name": "n"}, "odd": 1}
    status, answer = ask(server, "POST", f"{PODS}/p/binding?fieldValidation=Strict", body)
    assert status == 400
    assert answer["message"].endswith('strict decoding error: unknown field "odd"')


def test_eviction_of_the_version_that_was_read(server: Server) -> None:
    made = create_pod(server, "evicted", nodeName="n")
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]

    def evict(**wanted: str) -> int:
        body = {"metadata": {"name": "evicted"}, "deleteOptions": {"preconditions": wanted}}
        return ask(server, "POST", f"{PODS}/evicted/eviction", body)[0]

    assert evict(uid="other") == 409
    assert evict(uid=uid, resourceVersion="1") == 409
    untouched = ask(server, "GET", f"{PODS}/evicted")[1]
    assert untouched["metadata"]["resourceVersion"] == version
    assert evict(uid=uid, resourceVersion=version) == 201
    assert "deletionTimestamp" in ask(server, "GET", f"{PODS}/evicted")[1]["metadata"]


def test_policy_of_a_delete_is_not_empty(server: Server) -> None:
    create_pod(server, "kept")
    for path, body in ((f"{PODS}/kept?propagationPolicy=", None), (f"{PODS}/kept", {"propagationPolicy": ""})):
        status, answer = ask(server, "DELETE", path, body)
        assert status == 422
        assert 'propagationPolicy: Unsupported value: ""' in answer["message"]


def test_apply_through_status_owns_nothing_of_spec(server: Server) -> None:
    create_pod(server, "applied")
    config = {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n"}, "status": {"message": "m"}}
    status, answer = ask(server, "PATCH", f"{PODS}/applied/status?fieldManager=m", config, APPLY)
    assert status == 200
    assert "nodeName" not in answer["spec"]
    entry = next(one for one in answer["metadata"]["managedFields"] if one["manager"] == "m")
    assert entry["fieldsV1"] == {"f:status": {"f:message": {}}}


def test_list_whose_last_element_an_apply_gave_up_goes(server: Server) -> None:
    create_pod(server, "emptied", schedulerName="nobody")
    path = f"{PODS}/emptied/status?fieldManager=m"
    config = {"apiVersion": "v1", "kind": "Pod", "status": {"conditions": [{"type": "a.b/c", "status": "True"}]}}
    assert "conditions" in ask(server, "PATCH", path, config, APPLY)[1]["status"]
    assert "conditions" not in ask(server, "PATCH", path, {"apiVersion": "v1", "kind": "Pod"}, APPLY)[1]["status"]


@pytest.mark.parametrize(
    ("said", "address", "addresses"),
    [
        pytest.param({"podIP": "10.0.0.1"}, "10.0.0.1", ["10.0.0.1"], id="one"),
        pytest.param({"podIPs": [{"ip": "10.0.0.2"}]}, "10.0.0.2", ["10.0.0.2"], id="all"),
        pytest.param(
            {"podIP": "10.0.0.3", "podIPs": [{"ip": "10.0.0.4"}]}, "10.0.0.3", ["10.0.0.3"], id="both-and-different"
        ),
    ],
)
def test_address_of_a_pod_is_the_first_of_its_addresses(
    server: Server, said: Any, address: str, addresses: list[str]
) -> None:
    name = address.replace(".", "-")
    create_pod(server, name)
    status, answer = ask(server, "PATCH", f"{PODS}/{name}/status", {"status": said}, MERGE)
    assert status == 200
    assert answer["status"]["podIP"] == address
    assert [one["ip"] for one in answer["status"]["podIPs"]] == addresses


def test_table_of_a_dry_run_has_no_version(server: Server) -> None:
    headers = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    status, _, text = fetch(server, "POST", f"{NODES}?dryRun=All", body=b'{"metadata":{"name":"n"}}', headers=headers)
    assert status == 201
    assert json.loads(text)["metadata"] == {}


@pytest.mark.parametrize("path", ["/version", "/api", "/api/v1", "/apis/apps/v1"])
def test_discovery_is_only_read(server: Server, path: str) -> None:
    assert fetch(server, "POST", path, body=b"{}")[0] == 405


@pytest.mark.parametrize("path", ["/apis", "/apis/apps"])
def test_groups_are_told_whatever_the_method_is(server: Server, path: str) -> None:
    status, _, text = fetch(server, "POST", path, body=b"{}")
    assert (status, json.loads(text)["kind"]) == (200, "APIGroupList" if path == "/apis" else "APIGroup")


@pytest.mark.parametrize(
    ("headers", "status", "marked"),
    [
        pytest.param({"Impersonate-User": "bob"}, 403, "nosniff", id="not-allowed"),
        pytest.param({"Impersonate-Group": "g"}, 400, "nosniff", id="nobody-to-act-as"),
        pytest.param({}, 404, None, id="not-found"),
    ],
)
def test_what_the_authorizer_refuses_is_marked(
    server: Server, headers: dict[str, str], status: int, marked: str | None
) -> None:
    code, found, _ = fetch(server, "GET", f"{NODES}/nope", headers=headers)
    assert (code, found.get("x-content-type-options")) == (status, marked)


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps/v1"])
def test_discovery_comes_as_it_is_accepted(server: Server, path: str) -> None:
    status, headers, text = fetch(server, "GET", path, headers={"Accept": "application/yaml"})
    assert (status, headers["content-type"]) == (200, "application/yaml")
    assert yaml.safe_load(text)["kind"].startswith("API")
    assert fetch(server, "GET", path, headers={"Accept": "text/html"})[0] == 406


@pytest.fixture(scope="module")
def scale(server: Server) -> str:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert ask(server, "POST", path, {"metadata": {"name": "scaled"}, "spec": spec})[0] == 201
    return f"{path}/scaled/scale"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        pytest.param({}, 400, "the name of the object (scaled based on URL) was undeterminable", id="no-name"),
        pytest.param({"metadata": {"name": "x"}}, 400, "the name of the object (x) does not match", id="other-name"),
        pytest.param(
            {"metadata": {"name": "scaled"}, "spec": {"replicas": -1}},
            422,
            'Scale.autoscaling "scaled" is invalid: spec.replicas: Invalid value: -1: must be greater',
            id="negative",
        ),
        pytest.param(
            {"metadata": {"name": "scaled", "uid": "x"}},
            409,
            "Operation cannot be fulfilled on deployments",
            id="uid",
        ),
    ],
)
def test_scale_that_is_refused(server: Server, scale: str, body: Any, status: int, message: str) -> None:
    for method, media in (("PUT", "application/json"), ("PATCH", MERGE)):
        if method == "PATCH" and not body:
            continue  # which changes nothing
        found, answer = ask(server, method, scale, body, media)
        assert found == status
        assert answer["message"].startswith(message)


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        pytest.param("log", 400, "a container name must be specified for pod two, choose one of: [a b]", id="which"),
        pytest.param("log?container=z", 400, "container z is not valid for pod two", id="unknown"),
        pytest.param("exec?container=a", 400, "pod two does not have a host assigned", id="exec-nowhere"),
        pytest.param("portforward", 400, "pod two does not have a host assigned", id="forward-nowhere"),
        pytest.param("log?container=a", 204, "", id="log-of-what-runs-nowhere"),
    ],
)
def test_container_to_talk_to(server: Server, path: str, status: int, message: str) -> None:
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    spec = {"containers": containers, "schedulerName": "nobody"}
    ask(server, "POST", PODS, {"metadata": {"name": "two"}, "spec": spec})
    found, _, text = fetch(server, "GET", f"{PODS}/two/{path}")
    assert found == status
    assert (json.loads(text)["message"] if text else "") == message


def test_lock_that_is_given_back_has_an_empty_holder(server: Server) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"metadata": {"name": "lock"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}
    assert ask(server, "POST", path, lease)[0] == 201
    status, answer = ask(server, "PATCH", f"{path}/lock", {"spec": {"holderIdentity": ""}}, MERGE)
    assert (status, answer["spec"]) == (200, {"holderIdentity": "", "leaseDurationSeconds": 15})


def apply(server: Server, manager: str, config: Any, query: str = "") -> tuple[int, Any]:
    name = config["metadata"]["name"]
    return ask(server, "PATCH", f"{NODES}/{name}?fieldManager={manager}{query}", config, APPLY)


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def test_empty_list_of_taints_that_is_applied_is_meant(server: Server) -> None:
    config = {**node("bare"), "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    assert apply(server, "a", config)[0] == 201
    assert apply(server, "b", {**node("bare"), "spec": {"taints": []}})[0] == 409
    status, answer = apply(server, "b", {**node("bare"), "spec": {"taints": []}}, "&force=true")
    assert status == 200
    assert "taints" not in answer["spec"]
    entry = next(one for one in answer["metadata"]["managedFields"] if one["manager"] == "b")
    assert entry["fieldsV1"]["f:spec"] == {"f:taints": {}}


def test_conflicts_with_several(server: Server) -> None:
    apply(server, "b", node("shared", x="1"))
    apply(server, "a", node("shared", y="1"))
    status, answer = apply(server, "c", node("shared", x="2", y="2"))
    assert status == 409
    assert answer["message"] == (
        'Apply failed with 2 conflicts: conflicts with "a":\n- .metadata.labels.y\n'
        'conflicts with "b":\n- .metadata.labels.x'
    )


def test_element_without_its_key(server: Server) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "keyless"},
        "spec": {"containers": [{"image": "i"}]},
    }
    status, answer = ask(server, "PATCH", f"{PODS}/keyless?fieldManager=m", config, APPLY)
    assert status == 422
    assert answer["message"] == 'Pod "keyless" is invalid: spec.containers[0].name: Required value'


@pytest.mark.parametrize(
    ("validation", "status", "warnings"),
    [
        pytest.param("Strict", 400, 0, id="strict"),
        pytest.param("Warn", 200, 1, id="warn"),
        pytest.param("Ignore", 200, 0, id="ignore"),
    ],
)
def test_key_that_is_applied_twice(server: Server, validation: str, status: int, warnings: int) -> None:
    apply(server, "m", node("doubled"))
    body = b"{apiVersion: v1, kind: Node, metadata: {name: doubled, labels: {a: x, a: z}}}"
    path = f"{NODES}/doubled?fieldManager=m&dryRun=All&fieldValidation={validation}"
    found, headers, _ = fetch(server, "PATCH", path, body=body, headers={"Content-Type": APPLY})
    assert (found, int("warning" in headers)) == (status, warnings)
