"""Client libraries as people use them, against a real server: create, list, watch, patch, taint, delete with each.

kubectl has its own folder. The protobuf body is built field by field from upstream's field numbers, as Go sends it,
and shares no code with the decoder.
"""

import base64
import json
import ssl
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf.internal import encoder
from kubernetes import client as official
from kubernetes import config as official_config
from kubernetes import watch as official_watch
from kubernetes.client.exceptions import ApiException
from lightkube import Client as LightClient
from lightkube import KubeConfig
from lightkube.core.exceptions import ApiError as LightError
from lightkube.models.core_v1 import Container, PodSpec, Taint
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Node, Pod
from lightkube.types import PatchType

from support.server import Server, fetch

WALK = Path(__file__).parents[1] / "support" / "kr8s_walk.py"
IMAGE = "registry.k8s.io/pause:3.10"
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("clients"), "--nodes", "1") as running:
        yield running


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": IMAGE}], "nodeName": "nowhere"},
    }


def test_official_client(server: Server) -> None:
    with official_config.new_client_from_config(str(server.kubeconfig)) as connection:
        core = official.CoreV1Api(connection)
        made = core.create_namespaced_pod("default", pod("official"))
        assert made.metadata.uid
        listed = core.list_namespaced_pod("default", label_selector="app=official")
        assert [found.metadata.name for found in listed.items] == ["official"]
        stream = official_watch.Watch().stream(
            core.list_namespaced_pod,
            "default",
            label_selector="app=official",
            resource_version=listed.metadata.resource_version,
            timeout_seconds=20,
        )
        patched = core.patch_namespaced_pod("official", "default", {"metadata": {"labels": {"more": "yes"}}})
        assert patched.metadata.labels == {"app": "official", "more": "yes"}
        event = next(iter(stream))
        assert (event["type"], event["object"].metadata.labels["more"]) == ("MODIFIED", "yes")
        tainted = core.patch_node("node-1", {"spec": {"taints": [TAINT]}})
        assert [(t.key, t.effect) for t in tainted.spec.taints] == [("k", "NoSchedule")]
        core.patch_node("node-1", {"spec": {"taints": None}})
        core.delete_namespaced_pod("official", "default", grace_period_seconds=0)
        with pytest.raises(ApiException) as gone:
            core.read_namespaced_pod("official", "default")
        assert gone.value.status == 404
        custom = official.CustomObjectsApi(connection)
        assert custom.list_cluster_custom_object("apps", "v1", "deployments")["items"] == []


def test_lightkube(server: Server) -> None:
    with LightClient(KubeConfig.from_file(server.kubeconfig).get()) as light:
        body = Pod(
            metadata=ObjectMeta(name="light", labels={"app": "light"}),
            spec=PodSpec(containers=[Container(name="c", image=IMAGE)], nodeName="nowhere"),
        )
        made = light.create(body, namespace="default")
        assert made.metadata is not None
        (found,) = light.list(Pod, namespace="default", labels={"app": "light"})
        assert found.metadata is not None
        light.patch(Pod, "light", {"metadata": {"labels": {"more": "yes"}}}, namespace="default")
        version = made.metadata.resourceVersion
        seen = iter(light.watch(Pod, namespace="default", labels={"app": "light"}, resource_version=version))
        type_, changed = next(seen)
        seen.close()
        assert changed.metadata is not None
        assert (type_, changed.metadata.labels) == ("MODIFIED", {"app": "light", "more": "yes"})
        node = light.get(Node, "node-1")
        assert node.spec is not None
        node.spec.taints = [Taint(**TAINT)]
        node = light.replace(node)
        assert node.spec is not None
        assert node.spec.taints == [Taint(**TAINT)]
        light.patch(Node, "node-1", {"spec": {"taints": None}}, patch_type=PatchType.MERGE)
        applied = light.apply(
            Pod(
                apiVersion="v1",
                kind="Pod",
                metadata=ObjectMeta(name="light", namespace="default", annotations={"a": "b"}),
            ),
            field_manager="light",
        )
        assert applied.metadata is not None
        assert applied.metadata.annotations == {"a": "b"}
        light.delete(Pod, "light", namespace="default", grace_period=0)
        with pytest.raises(LightError, match="not found"):
            light.get(Pod, "light", namespace="default")


def test_kr8s(server: Server) -> None:
    done = server.run(sys.executable, str(WALK), str(server.kubeconfig))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "listed": ["kr"],
        "patched": "yes",
        "watched": ["ADDED", "yes"],
        "tainted": ["k"],
        "exists": False,
    }


# Protobuf, as Go's clients send it


def text(number: int, value: str) -> bytes:
    return part(number, value.encode())


def part(number: int, value: bytes) -> bytes:
    """A length-delimited field."""
    return encoder.TagBytes(number, 2) + encoder._VarintBytes(len(value)) + value  # type: ignore[attr-defined]


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\0" + part(1, text(1, api_version) + text(2, kind)) + part(2, raw)


def test_protobuf_body_as_go_sends_it(server: Server) -> None:
    label = part(11, text(1, "app") + text(2, "proto"))
    metadata = part(1, text(1, "proto") + text(2, "") + text(3, "") + label)
    toleration = part(22, text(1, "k") + text(2, "Equal") + text(3, "v") + text(4, "NoExecute"))
    container = part(2, text(1, "c") + text(2, IMAGE))
    body = envelope("v1", "Pod", metadata + part(2, container + text(10, "nowhere") + toleration))
    status, headers, answer = fetch(
        server,
        "POST",
        "/api/v1/namespaces/default/pods",
        body=body,
        headers={"Content-Type": "application/vnd.kubernetes.protobuf", "Accept": "application/json"},
    )
    assert (status, headers["content-type"]) == (201, "application/json"), answer
    made = json.loads(answer)
    assert made["metadata"]["labels"] == {"app": "proto"}
    assert made["spec"]["nodeName"] == "nowhere"
    assert {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"} in made["spec"]["tolerations"]


def test_watch_over_plain_http_begins_at_once(server: Server) -> None:
    config = yaml.safe_load(Path(server.kubeconfig).read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    request = urllib.request.Request(
        f"{server.address}/api/v1/nodes?watch=1&timeoutSeconds=5",
        headers={"Authorization": f"Bearer {config['users'][0]['user']['token']}"},
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cadata=authority), timeout=10) as stream:
        event = json.loads(stream.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "node-1")
