"""Addresses and node ports: given out once, given back when they are not used."""

import copy
from typing import Any

import pytest

from doorman.api.views.meta import ObjectMeta, View, view_decoder
from doorman.base.errors import ApiError
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.registry.cache.streams import CacheChange
from doorman.registry.kinds.service_allocators import ServiceAllocators, numbers_of
from doorman.store.store_contract import Entry


class Plain(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


DECODE = view_decoder(Plain)


class Desk:
    def __init__(self) -> None:
        self.services = Collection("services", DECODE, 0)
        self.ranges = Collection("servicecidrs.networking.k8s.io", DECODE, 0)
        self.allocators = ServiceAllocators(self.services, self.ranges)
        self.revision = 0

    def put(self, collection: Collection, key: str, doc: dict[str, Any] | None) -> None:
        self.revision += 1
        new = None
        if doc is not None:
            entry = Entry(f"x/{key}", to_kept_bytes(doc), self.revision, self.revision)
            new = Stored(entry, key, DECODE)
        collection.apply(CacheChange(self.revision, collection.get(key), new))

    async def assign(self, name: str, old: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
        doc = service(name, **spec)
        await self.allocators.assign(doc, old, is_dry_run=False)
        return doc


def service(name: str, **spec: Any) -> dict[str, Any]:
    number = sum(map(ord, name))
    metadata = {"namespace": "a", "name": name, "uid": f"{number:08x}-{name}"}
    return {"metadata": metadata, "spec": {"type": "ClusterIP", **spec}}


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_two_services_never_get_the_same(desk: Desk) -> None:
    first, second = (
        await desk.assign("a", type="NodePort", ports=[{"port": 1}]),
        await desk.assign("b", type="NodePort", ports=[{"port": 1}]),
    )
    one, other = first["spec"], second["spec"]
    assert one["clusterIP"] != other["clusterIP"]
    assert one["clusterIPs"] == [one["clusterIP"]]
    assert one["ports"][0]["nodePort"] != other["ports"][0]["nodePort"]


async def test_dry_run_may_ask_for_a_port_that_nobody_would_give_it(desk: Desk) -> None:
    doc = service("a", type="NodePort", ports=[{"port": 1, "nodePort": 7}])
    given = await desk.allocators.assign(copy.deepcopy(doc), None, is_dry_run=True)
    assert given.on_abort is not None
    given.on_abort()
    with pytest.raises(ApiError, match="not in the valid range"):
        await desk.allocators.assign(doc, None, is_dry_run=False)


async def test_number_is_free_again_when_the_service_is_not_stored(desk: Desk) -> None:
    doc = service("a")
    given = await desk.allocators.assign(doc, None, is_dry_run=True)
    address = doc["spec"]["clusterIP"]
    with pytest.raises(ApiError, match="already allocated"):
        await desk.assign("b", clusterIP=address)
    assert given.on_abort is not None
    given.on_abort()
    assert (await desk.assign("b", clusterIP=address))["spec"]["clusterIP"] == address


async def test_stored_service_keeps_its_numbers_until_it_is_gone(desk: Desk) -> None:
    doc = await desk.assign("a")
    desk.put(desk.services, "a/a", doc)
    address = doc["spec"]["clusterIP"]
    with pytest.raises(ApiError, match="already allocated"):
        await desk.assign("b", clusterIP=address)
    desk.put(desk.services, "a/a", None)
    await desk.assign("b", clusterIP=address)


@pytest.mark.parametrize(
    ("spec", "field", "why"),
    [
        pytest.param({"clusterIP": "1.2.3.4"}, "spec.clusterIPs", "is not in the valid range", id="address"),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}, "spec.ports[0].nodePort",
            "The range of valid ports is 30000-32767", id="port",
        ),
    ],
)  # fmt: skip
async def test_outside_of_the_range(desk: Desk, spec: dict[str, Any], field: str, why: str) -> None:
    with pytest.raises(ApiError, match=why) as caught:
        await desk.assign("a", **spec)
    assert caught.value.causes[0].field == field


async def test_port_of_another_is_refused(desk: Desk) -> None:
    await desk.assign("a", type="NodePort", ports=[{"port": 1, "nodePort": 30001}])
    with pytest.raises(ApiError, match="provided port is already allocated"):
        await desk.assign("b", type="NodePort", ports=[{"port": 1, "nodePort": 30001}])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"clusterIP": "None"}, [], id="headless"),
        pytest.param({"type": "ExternalName", "clusterIP": "10.96.0.9"}, [], id="elsewhere"),
        pytest.param({"type": "ClusterIP", "clusterIP": "a", "ports": [{"nodePort": 30001}]}, ["a"], id="inside"),
        pytest.param(
            {"type": "LoadBalancer", "clusterIP": "a", "ports": [{"nodePort": 30001}], "healthCheckNodePort": 30002},
            ["a", 30001, 30002], id="balanced",
        ),
    ],
)  # fmt: skip
def test_numbers_of(spec: dict[str, Any], expected: list[Any]) -> None:
    assert list(numbers_of(spec)) == expected


async def test_same_port_by_another_protocol_is_the_same_outside(desk: Desk) -> None:
    ports = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}, {"port": 80}]
    found = (await desk.assign("a", type="NodePort", ports=ports))["spec"]["ports"]
    assert found[0]["nodePort"] == found[1]["nodePort"] != found[2]["nodePort"]


async def test_balancer_of_local_traffic_gets_a_port_for_health(desk: Desk) -> None:
    local = await desk.assign("a", type="LoadBalancer", externalTrafficPolicy="Local", ports=[{"port": 1}])
    assert local["spec"]["healthCheckNodePort"] in range(30000, 32768)
    without = await desk.assign("b", type="LoadBalancer", allocateLoadBalancerNodePorts=False, ports=[{"port": 1}])
    assert "nodePort" not in without["spec"]["ports"][0]


async def test_addresses_come_from_the_ranges_that_there_are(desk: Desk) -> None:
    desk.put(desk.ranges, "r", {"metadata": {"name": "r"}, "spec": {"cidrs": ["10.9.0.0/24"]}})
    going = {"name": "s", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    desk.put(desk.ranges, "s", {"metadata": going, "spec": {"cidrs": ["10.8.0.0/24"]}})
    assert (await desk.assign("a"))["spec"]["clusterIP"].startswith("10.9.0.")
    with pytest.raises(ApiError, match=r"valid IPs is 10\.9\.0\.0/24"):
        await desk.assign("b", clusterIP="10.8.0.5")


async def test_service_keeps_what_it_has(desk: Desk) -> None:
    old = await desk.assign("a")
    desk.put(desk.services, "a/a", old)
    new = await desk.assign("a", old, clusterIP=old["spec"]["clusterIP"])
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
