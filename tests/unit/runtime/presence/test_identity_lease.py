"""Which servers there are."""

import msgspec
import pytest

from doorman.api.views.coordination import Lease
from doorman.client.actions import Create
from doorman.runtime.presence.identity_lease import IDENTITY_LABEL, IdentityLease, identity_name, is_expired
from support.cluster import Story, run_story

LEASES = "leases.coordination.k8s.io"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"renewTime": "1970-01-01T00:00:10.000000Z", "leaseDurationSeconds": 90}, False),
        ({"renewTime": "1970-01-01T00:00:09.000000Z", "leaseDurationSeconds": 90}, True),
        ({"leaseDurationSeconds": 90}, True),
    ],
)
def test_expiry(spec: dict[str, object], expected: bool) -> None:
    assert is_expired(msgspec.convert({"spec": spec}, Lease), 100.0) is expected


def test_servers_of_one_machine_have_names_of_their_own() -> None:
    assert identity_name("host", 1) == identity_name("host", 1)
    assert len({identity_name("host", 1), identity_name("host", 2), identity_name("other", 1)}) == 3


def identity(cluster: Story, port: int) -> IdentityLease:
    plane = cluster.cluster
    leases = plane.cache.collection(LEASES)
    client = plane.api.system_client()
    return IdentityLease(
        client, plane.api.newest, leases, cluster.clock, address="10.0.0.7", port=port, uid=f"uid-{port}"
    )


def test_lease_says_who_it_is_is_renewed_and_goes_when_old() -> None:
    async def story(cluster: Story) -> None:
        objects = cluster.cluster.cache.collection(LEASES).objects
        first, second = identity(cluster, 1), identity(cluster, 2)
        await first.renew()
        await second.renew()
        doc = objects[f"kube-system/{first.name}"].document()
        assert doc["metadata"]["labels"][IDENTITY_LABEL] == "doorman"
        assert doc["metadata"]["annotations"] == {"kubernetes.io/peer-advertise-address": "10.0.0.7:1"}
        assert (doc["spec"]["holderIdentity"], doc["spec"]["leaseDurationSeconds"]) == (f"{first.name}_uid-1", 3600)
        foreign = {"metadata": {"name": "apiserver-x", "labels": {IDENTITY_LABEL: "kube-apiserver"}}, "spec": {}}
        await cluster.client.create(Create(resource=LEASES, namespace="kube-system", body=foreign))
        await cluster.advance(3000)
        await second.renew()
        assert objects[f"kube-system/{second.name}"].document()["spec"]["renewTime"] != doc["spec"]["renewTime"]
        await cluster.advance(700)
        await second.collect()
        assert f"kube-system/{first.name}" not in objects
        assert {f"kube-system/{second.name}", "kube-system/apiserver-x"} <= set(objects), "others collect their own"

    run_story(story, nodes=0)
