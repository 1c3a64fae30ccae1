"""Leases renewed together are what they would be if each were renewed by itself."""

from typing import Any

import pytest

from doorman.api.identity import User
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE
from doorman.base.instants import to_micro_time
from doorman.client.actions import Create, Delete, Patch, PatchType, Renew
from doorman.registry.fastpath.lease_renewal import GONE_MIN
from doorman.runtime.in_process.kubelet_client import KubeletClient
from support.api import Api, running_api

HOOK = {
    "metadata": {"name": "hooks"},
    "webhooks": [
        {
            "name": "w.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["things"]}
            ],
        }
    ],
}


def lease(node: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": "u"}
    return {
        "metadata": {"name": node, "namespace": NODE_LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"},
    }


async def given_leases(api: Api, *nodes: str) -> None:
    for node in nodes:
        client = api.cluster.api.kubelet_client(node)
        await client.create(Create(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, body=lease(node)))


def kept(api: Api, node: str) -> bytes:
    stored = api.cluster.cache.collection(LEASES).get(f"{NODE_LEASE_NAMESPACE}/{node}")
    assert stored is not None
    return stored.value


async def renew_alone(api: Api, node: str, time: str, manager: str = "kubelet") -> None:
    client = api.cluster.client_as(f"system:node:{node}", manager, "system:nodes")
    body = {"spec": {"renewTime": time}}
    await client.patch(
        Patch(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, name=node, body=body, type=PatchType.MERGE)
    )


def kubelets(api: Api, nodes: list[str]) -> dict[str, User]:
    return {node: api.cluster.api.kubelet_client(node).user for node in nodes}


async def test_both_ways_give_the_same_bytes_again_and_again() -> None:
    async with running_api() as alone, running_api() as together:
        await given_leases(alone, "n1")
        await given_leases(together, "n1")
        renewals = together.cluster.registry.lease_renewals
        for _ in range(3):
            for api in (alone, together):
                api.clock.advance_to(api.clock.now() + 10.25)
            await renew_alone(alone, "n1", to_micro_time(alone.clock.now()))
            assert await renewals.renew(kubelets(together, ["n1"]), together.clock.now()) == []
            assert kept(alone, "n1") == kept(together, "n1")


async def test_lease_written_by_others_takes_the_long_way() -> None:
    async with running_api() as api:
        await given_leases(api, "n1", "n2")
        renewals = api.cluster.registry.lease_renewals
        await renew_alone(api, "n2", "2026-01-01T00:00:01.000000Z", manager="somebody")
        assert await renewals.renew(kubelets(api, ["n1", "n2", "gone"]), api.clock.now()) == ["n2", "gone"]


async def test_write_of_the_kubelet_in_between_is_kept() -> None:
    async with running_api() as api:
        await given_leases(api, "n1")
        renewals = api.cluster.registry.lease_renewals
        await renewals.renew(kubelets(api, ["n1"]), api.clock.now())
        body = {"spec": {"leaseDurationSeconds": 50}}
        patch = Patch(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, name="n1", body=body, type=PatchType.MERGE)
        await api.cluster.api.kubelet_client("n1").patch(patch)
        assert await renewals.renew(kubelets(api, ["n1"]), api.clock.now() + 10) == []
        assert b'"leaseDurationSeconds":50' in kept(api, "n1")


@pytest.mark.parametrize(
    "others", [pytest.param(False, id="nobody-asked"), pytest.param(True, id="a-webhook-is-asked")]
)
async def test_webhooks_see_every_renewal_and_all_leases_are_renewed(others: bool) -> None:
    async with running_api() as api:
        await given_leases(api, "n1", "n2")
        if others:
            await api.given("validatingwebhookconfigurations.admissionregistration.k8s.io", HOOK)
        renewals = api.cluster.registry.lease_renewals
        assert await renewals.renew(kubelets(api, ["n1"]), api.clock.now()) == (["n1"] if others else [])
        clients = KubeletClient(api.cluster.cache, api.cluster.api.kubelet_client, renewals)
        await clients.renew(Renew(nodes=("n1", "gone", "n2"), at=api.clock.now() + 7.5))
        assert all(b'"renewTime":"2026-01-01T00:00:07.500000Z"' in kept(api, node) for node in ("n1", "n2"))


async def test_mutating_policies_may_look_at_every_renewal() -> None:
    async with running_api() as api:
        await given_leases(api, "n1")
        rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "mutations": [mutation], "reinvocationPolicy": "Never"}
        policy = {"metadata": {"name": "p"}, "spec": spec}
        await api.given("mutatingadmissionpolicies.admissionregistration.k8s.io", policy)
        binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
        await api.given("mutatingadmissionpolicybindings.admissionregistration.k8s.io", binding)
        renewals = api.cluster.registry.lease_renewals
        assert await renewals.renew(kubelets(api, ["n1"]), api.clock.now()) == ["n1"]


async def test_leases_that_are_gone_are_forgotten() -> None:
    async with running_api() as api:
        renewals = api.cluster.registry.lease_renewals
        await given_leases(api, "stays")
        for number in range(2 * GONE_MIN):
            node = f"gone-{number}"
            await given_leases(api, node)
            assert await renewals.renew(kubelets(api, [node, "stays"]), 1_800_000_000.0 + number) == []
            await api.admin.delete(Delete(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, name=node))
        assert "stays" in renewals._forms
        assert len(renewals._forms) <= 2 * 2 + GONE_MIN
