"""Services get addresses and node ports when they are written, keep them, and give them back."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from doorman.base.clock import ManualClock
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.store.memory_store import MemoryStore
from support.api import Api, credentials, running_api

PATH = "/api/v1/namespaces/default/services"
MERGE = {"content-type": "application/merge-patch+json"}


def service(name: str = "s", **spec: Any) -> dict[str, Any]:
    ports = {} if spec.get("type") == "ExternalName" else {"ports": [{"port": 80}]}
    return {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name}, "spec": {**ports, **spec}}


def run(story: Callable[[Api], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with running_api() as api:
            await story(api)

    asyncio.run(main())


async def made(api: Api, body: dict[str, Any], query: str = "") -> Any:
    status, answer = await api.call("POST", PATH + query, body)
    assert status == 201, answer
    return answer["spec"]


def test_each_service_gets_an_address_of_its_own() -> None:
    async def story(api: Api) -> None:
        specs = await asyncio.gather(*(made(api, service(f"s{number}")) for number in range(50)))
        addresses = [spec["clusterIP"] for spec in specs]
        assert len(set(addresses)) == 50
        assert all(address.startswith("10.96.") for address in addresses)
        first = specs[0]
        assert first["clusterIPs"] == [first["clusterIP"]]
        defaults = {name: first[name] for name in ("type", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")}
        assert defaults == {
            "type": "ClusterIP",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        }

    run(story)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"clusterIP": "None", "selector": {"a": "b"}}, ("None", ["IPv4"], "SingleStack"), id="headless"),
        pytest.param(
            {"clusterIP": "None"}, ("None", ["IPv4", "IPv6"], "RequireDualStack"), id="headless-without-a-selector"
        ),
        pytest.param({"type": "ExternalName", "externalName": "a.b"}, (None, None, None), id="external-name"),
        pytest.param({"clusterIP": "10.96.0.77"}, ("10.96.0.77", ["IPv4"], "SingleStack"), id="of-its-own-choice"),
    ],
)
def test_address_and_families(spec: dict[str, Any], expected: tuple[Any, ...]) -> None:
    async def story(api: Api) -> None:
        found = await made(api, service(**spec))
        assert (found.get("clusterIP"), found.get("ipFamilies"), found.get("ipFamilyPolicy")) == expected

    run(story)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"clusterIP": "10.96.0.1"},
            'spec.clusterIPs: Invalid value: ["10.96.0.1"]: failed to allocate IP 10.96.0.1: '
            "provided IP is already allocated",
            id="address-taken",
        ),
        pytest.param(
            {"clusterIP": "10.1.2.3"},
            'spec.clusterIPs: Invalid value: ["10.1.2.3"]: failed to allocate IP 10.1.2.3: the provided IP (10.1.2.3) '
            "is not in the valid range. The range of valid IPs is 10.96.0.0/16",
            id="address-of-another-network",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31000}]},
            "spec.ports[0].nodePort: Invalid value: 31000: provided port is already allocated",
            id="port-taken",
        ),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
            "The range of valid ports is 30000-32767",
            id="port-out-of-range",
        ),
    ],
)
def test_refused_number_leaves_nothing_taken(spec: dict[str, Any], message: str) -> None:
    async def story(api: Api) -> None:
        await made(api, service("first", type="NodePort", ports=[{"port": 80, "nodePort": 31000}]))
        status, answer = await api.call("POST", PATH, service("x", **spec))
        assert (status, answer["message"]) == (422, f'Service "x" is invalid: {message}')
        assert (await made(api, service("x")))["clusterIP"]

    run(story)


def test_numbers_are_free_again_when_the_service_is_gone() -> None:
    async def story(api: Api) -> None:
        wanted = service(type="NodePort", clusterIP="10.96.0.9", ports=[{"port": 80, "nodePort": 30500}])
        await made(api, wanted)
        await api.call("DELETE", PATH + "/s")
        spec = await made(api, {**wanted, "metadata": {"name": "other"}})
        assert (spec["clusterIP"], spec["ports"][0]["nodePort"]) == ("10.96.0.9", 30500)

    run(story)


def test_dry_run_takes_nothing() -> None:
    async def story(api: Api) -> None:
        assert (await made(api, service(clusterIP="10.96.0.9"), "?dryRun=All"))["clusterIP"] == "10.96.0.9"
        assert (await made(api, service("other", clusterIP="10.96.0.9")))["clusterIP"] == "10.96.0.9"

    run(story)


def test_service_keeps_what_it_was_given_when_it_is_replaced() -> None:
    async def story(api: Api) -> None:
        before = await made(api, service(type="NodePort"))
        status, after = await api.call("PUT", PATH + "/s", service(type="LoadBalancer"))
        assert status == 200, after
        assert after["spec"]["clusterIP"] == before["clusterIP"]
        assert after["spec"]["ports"][0]["nodePort"] == before["ports"][0]["nodePort"]
        assert after["spec"]["allocateLoadBalancerNodePorts"] is True

    run(story)


def test_change_of_type_gives_and_takes_numbers() -> None:
    async def story(api: Api) -> None:
        address = (await made(api, service()))["clusterIP"]
        _, node_port = await api.call("PATCH", PATH + "/s", {"spec": {"type": "NodePort"}}, headers=MERGE)
        number = node_port["spec"]["ports"][0]["nodePort"]
        assert 30000 <= number <= 32767
        _, plain = await api.call("PATCH", PATH + "/s", {"spec": {"type": "ClusterIP"}}, headers=MERGE)
        assert "nodePort" not in plain["spec"]["ports"][0]
        assert "externalTrafficPolicy" not in plain["spec"]
        change = {"spec": {"type": "ExternalName", "externalName": "a.b"}}
        _, named = await api.call("PATCH", PATH + "/s", change, headers=MERGE)
        assert "clusterIP" not in named["spec"]
        wanted = [{"port": 80, "nodePort": number}]
        assert (await made(api, service("t", type="NodePort", clusterIP=address, ports=wanted)))["clusterIP"] == address

    run(story)


def test_same_port_by_two_protocols_is_one_port_outside() -> None:
    async def story(api: Api) -> None:
        ports = [{"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]
        spec = await made(api, service(type="NodePort", ports=ports))
        assert spec["ports"][0]["nodePort"] == spec["ports"][1]["nodePort"]

    run(story)


def test_balancer_that_stays_local_gets_a_port_to_ask_its_health_at() -> None:
    async def story(api: Api) -> None:
        spec = await made(api, service(type="LoadBalancer", externalTrafficPolicy="Local"))
        assert spec["healthCheckNodePort"] not in (0, spec["ports"][0]["nodePort"])
        bare = await made(api, service("t", type="LoadBalancer", allocateLoadBalancerNodePorts=False))
        assert "nodePort" not in bare["ports"][0]

    run(story)


def test_numbers_are_still_taken_after_a_restart() -> None:
    async def main() -> None:
        store = MemoryStore()
        for seed in (7, 8):
            settings, clock = Settings(seed=seed, nodes=0), ManualClock()
            cluster = ControlPlane(ApiServer(store, settings, clock), settings, clock)
            await cluster.prepare(port=6443, ca_certificate=credentials().ca_certificate)
            api = Api(cluster, ManualClock())
            if seed == 7:
                await made(api, service(clusterIP="10.96.0.9"))
            else:
                status, answer = await api.call("POST", PATH, service("late", clusterIP="10.96.0.9"))
                assert (status, "already allocated" in answer["message"]) == (422, True)

    asyncio.run(main())


def test_the_api_itself_is_a_service_with_endpoints() -> None:
    async def story(api: Api) -> None:
        _, found = await api.call("GET", PATH + "/kubernetes")
        assert found["spec"]["clusterIP"] == "10.96.0.1"
        _, endpoints = await api.call("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
        assert endpoints["subsets"][0]["ports"] == [{"name": "https", "port": 6443, "protocol": "TCP"}]
        _, slice_ = await api.call("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
        assert slice_["endpoints"][0]["addresses"] == ["127.0.0.1"]
        _, ranges = await api.call("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        assert ranges["spec"]["cidrs"] == ["10.96.0.0/16"]

    run(story)
