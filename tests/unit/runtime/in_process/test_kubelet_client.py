"""Every action of the simulated kubelets is taken as the node it is about."""

from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.client.actions import Action, Create, Delete, Patch
from doorman.runtime.in_process.kubelet_client import GONE_MIN, KubeletClient
from support.api import Api, running_api

EVENT = {"metadata": {"name": "e", "namespace": "default"}, "reason": "R", "message": "m", "type": "Normal"}


async def given(api: Api) -> KubeletClient:
    await api.given_account("default")
    for node in ("n1", "n2"):
        await api.given("nodes", {"metadata": {"name": node}})
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"}
    await api.given("pods", {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
    return KubeletClient(api.cluster.cache, api.cluster.api.kubelet_client, api.cluster.registry.lease_renewals)


def about(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    """As a kubelet tells it, which says on which node it is."""
    source = {"component": "kubelet", "host": "n1" if kind == "Pod" else name}
    return {**EVENT, "source": source, "involvedObject": {"kind": kind, "name": name, "namespace": namespace}}


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Patch(resource="nodes", name="n2", subresource="status", body={"status": {}}), id="node-status"),
        pytest.param(
            Patch(resource="pods", namespace="default", name="p", subresource="status", body={"status": {}}),
            id="pod-status",
        ),
        pytest.param(Delete(resource="pods", namespace="default", name="p", grace_seconds=0), id="pod-deleted"),
        pytest.param(
            Create(
                resource="leases.coordination.k8s.io",
                namespace="kube-node-lease",
                body={"metadata": {"name": "n1", "namespace": "kube-node-lease"}, "spec": {}},
            ),
            id="lease",
        ),
        pytest.param(Create(resource="events", namespace="default", body=about("Node", "n2")), id="node-event"),
        pytest.param(Create(resource="events", namespace="default", body=about("Pod", "p", "default")), id="pod-event"),
        pytest.param(
            Create(resource="events", namespace="default", body=about("Pod", "gone", "default")), id="gone-pod-event"
        ),
    ],
)
async def test_kubelet_may_do_what_it_does(action: Action) -> None:
    async with running_api() as api:
        clients = await given(api)
        match action:
            case Patch():
                await clients.patch(action)
            case Create():
                await clients.create(action)
            case Delete():
                await clients.delete(action)


async def test_pod_that_is_gone_is_not_found() -> None:
    async with running_api() as api:
        clients = await given(api)
        gone = Patch(resource="pods", namespace="default", name="gone", subresource="status", body={"status": {}})
        with pytest.raises(ApiError) as caught:
            await clients.patch(gone)
        assert caught.value.code == 404


async def test_nodes_that_are_gone_are_forgotten() -> None:
    async with running_api() as api:
        clients = await given(api)
        for number in range(3 * GONE_MIN):
            name = f"gone-{number}"
            with pytest.raises(ApiError):
                await clients.patch(Patch(resource="nodes", name=name, subresource="status", body={"status": {}}))
            await clients.patch(Patch(resource="nodes", name="n1", subresource="status", body={"status": {}}))
        assert "n1" in clients._clients
        assert len(clients._clients) <= 2 * 2 + GONE_MIN
