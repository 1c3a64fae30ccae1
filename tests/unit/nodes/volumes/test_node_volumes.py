"""Volumes that kubelets use, and wait for."""

from typing import Any

import pytest

from doorman.api.views.storage.csi import CSI_DRIVERS
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.client.controller_contract import ObjectChange
from doorman.nodes.volumes.node_volumes import NodeVolumes
from support.attaching import UNIQUE, AttachingCaches, node_view, user
from support.scheduling import make_pod


def node_volumes(caches: AttachingCaches) -> NodeVolumes:
    return NodeVolumes(caches["nodes"], caches["pods"], caches[CLAIMS], caches[VOLUMES], caches[CSI_DRIVERS])


def test_kubelet_says_what_it_uses_and_no_longer_uses() -> None:
    caches = AttachingCaches()
    caches.put("pods", user())
    volumes = node_volumes(caches)
    [patch] = volumes.report(node_view())
    assert patch.body == {"status": {"volumesInUse": [UNIQUE]}}
    assert list(volumes.report(node_view(in_use=True))) == []
    caches.remove("pods", user())
    [patch] = volumes.report(node_view(in_use=True))
    assert patch.body == {"status": {"volumesInUse": None}}


@pytest.mark.parametrize(
    ("node", "waits"),
    [
        pytest.param(node_view(), True, id="neither"),
        pytest.param(node_view(attached=True), True, id="attached, and not said to be in use"),
        pytest.param(node_view(in_use=True), True, id="in use, and not attached"),
        pytest.param(node_view(in_use=True, attached=True), False, id="both"),
    ],
)
def test_pod_waits_until_its_volume_is_attached(node: Any, waits: bool) -> None:
    caches = AttachingCaches()
    caches.put("nodes", node)
    volumes = node_volumes(caches)
    assert volumes.is_waiting("default/p", user()) is waits
    assert list(volumes.woken("node-1")) == (["default/p"] if waits else [])
    assert list(volumes.woken("node-1")) == []


def test_pods_that_come_and_go_concern_their_nodes() -> None:
    volumes = node_volumes(AttachingCaches())
    pod = user()
    ended = make_pod("p", node="node-1", volumes=[], status={"phase": "Succeeded"})
    assert list(volumes.concerned_nodes(ObjectChange("pods", None, pod))) == ["node-1"]
    assert list(volumes.concerned_nodes(ObjectChange("pods", pod, pod))) == []
    assert list(volumes.concerned_nodes(ObjectChange("pods", pod, None))) == ["node-1"]
    assert list(volumes.concerned_nodes(ObjectChange("pods", None, ended))) == []
