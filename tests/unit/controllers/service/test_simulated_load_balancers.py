"""Load balancers of a simulated cloud."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.nodes import Node
from doorman.api.views.services import Service
from doorman.client.actions import Patch
from doorman.controllers.service.simulated_load_balancers import (
    EXCLUDED,
    FINALIZER,
    LoadBalancerController,
    balances,
    decide_addresses,
    is_settled,
)
from support.stage import Stage

SIMULATED = "doorman.dev/simulated"


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"type": "LoadBalancer", **spec}}


def node(name: str, simulated: str = "true", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": {SIMULATED: simulated}, "labels": labels}}


def stage_with(*nodes: dict[str, Any]) -> Stage:
    stage = Stage({"services": Service})
    for one in nodes:
        stage.create("nodes", one)
    stage.add(LoadBalancerController(stage.caches["services"], stage.caches["nodes"], SIMULATED))
    stage.settle()
    return stage


def ingress(stage: Stage, name: str = "web") -> list[str]:
    document = stage.get("services", f"default/{name}")
    assert document is not None
    found = document.get("status", {}).get("loadBalancer", {}).get("ingress") or []
    return [one["ip"] for one in found]


def reasons(stage: Stage) -> list[tuple[float, str]]:
    return [(at, event.reason) for at, event in stage.events]


def test_rule_1_service_is_held_and_has_its_address_a_moment_later() -> None:
    stage = stage_with(node("node-1"))
    stage.create("services", service())
    stage.at(0.5)
    document = stage.get("services", "default/web")
    assert document is not None
    assert (document["metadata"]["finalizers"], ingress(stage)) == ([FINALIZER], [])
    stage.at(20)
    assert len(ingress(stage)) == 1
    assert reasons(stage) == [(0.0, "EnsuringLoadBalancer"), (1.0, "EnsuredLoadBalancer")]


@pytest.mark.parametrize(
    ("spec", "simulated"),
    [
        pytest.param({"type": "ClusterIP"}, "true", id="other-type"),
        pytest.param({"loadBalancerClass": "example.com/x"}, "true", id="other-class"),
        pytest.param({}, "false", id="no-node-is-simulated"),
    ],
)
def test_service_of_somebody_else(spec: dict[str, Any], simulated: str) -> None:
    stage = stage_with(node("node-1", simulated))
    stage.create("services", service(**spec))
    stage.at(20)
    assert (reasons(stage), stage.done(Patch)) == ([], [])


def view(spec: dict[str, Any], *has: str, uid: str = "u") -> Service:
    status = {"loadBalancer": {"ingress": [{"ip": one} for one in has]}}
    return to_view({"metadata": {"name": "web", "uid": uid}, "spec": spec, "status": status}, Service)


@pytest.mark.parametrize(
    ("spec", "has", "taken", "expected"),
    [
        pytest.param({"loadBalancerIP": "192.0.2.7"}, (), set(), ("192.0.2.7",), id="rule-2-asked-for"),
        pytest.param({}, ("192.0.2.9",), set(), ("192.0.2.9",), id="rule-2-stays"),
        pytest.param({"ipFamilies": ["IPv6"]}, ("2001:2::5",), set(), ("2001:2::5",), id="rule-2-stays-of-six"),
    ],
)
def test_addresses(spec: Any, has: tuple[str, ...], taken: set[str], expected: tuple[str, ...]) -> None:
    assert decide_addresses(view(spec, *has), taken) == expected


def test_rule_2_addresses_of_the_pool_are_distinct_and_of_each_family() -> None:
    (first,) = decide_addresses(view({}), set())
    (second,) = decide_addresses(view({}), {first})
    (instead,) = decide_addresses(view({"loadBalancerIP": "192.0.2.7"}), {"192.0.2.7"})
    assert first != second
    assert (first, instead) == (instead, first)
    assert first.startswith("198.18.")
    four, six = decide_addresses(view({"ipFamilies": ["IPv4", "IPv6"]}), set())
    assert (four, six.startswith("2001:2::")) == (first, True)


@pytest.mark.parametrize(
    ("spec", "has", "taken", "expected"),
    [
        pytest.param({}, (), set(), False, id="nothing-yet"),
        pytest.param({}, ("192.0.2.1",), set(), True, id="whoever-gave-it"),
        pytest.param({"loadBalancerIP": "192.0.2.7"}, ("192.0.2.1",), set(), False, id="asks-for-another"),
        pytest.param({"loadBalancerIP": "192.0.2.7"}, ("192.0.2.1",), {"192.0.2.7"}, True, id="which-is-taken"),
    ],
)
def test_settled(spec: Any, has: tuple[str, ...], taken: set[str], expected: bool) -> None:
    assert is_settled(view(spec, *has), taken) is expected


def test_rule_3_service_that_goes_is_let_go() -> None:
    stage = stage_with(node("node-1"))
    stage.create("services", service())
    stage.at(5)
    stage.delete("services", "default/web")
    stage.at(6)
    assert stage.get("services", "default/web") is None
    assert reasons(stage)[-2:] == [(5.0, "DeletingLoadBalancer"), (5.0, "DeletedLoadBalancer")]


def test_rule_3_service_of_another_type_loses_its_address() -> None:
    stage = stage_with(node("node-1"))
    stage.create("services", service())
    stage.at(5)
    stage.patch("services", "default/web", {"spec": {"type": "ClusterIP"}})
    stage.at(6)
    document = stage.get("services", "default/web")
    assert document is not None
    assert (document["metadata"].get("finalizers"), ingress(stage)) == (None, [])


@pytest.mark.parametrize(
    ("document", "counts"),
    [
        pytest.param(node("n"), True, id="rule-4-plain"),
        pytest.param(
            node("n", **{EXCLUDED: "true"}),
            False,
            id="rule-4-excluded",
        ),
        pytest.param(node("n", **{EXCLUDED: ""}), False, id="rule-4-no-boolean"),
        pytest.param(node("n", **{EXCLUDED: "false"}), True, id="rule-4-false"),
        pytest.param(
            {**node("n"), "spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}},
            False,
            id="rule-4-about-to-be-removed",
        ),
        pytest.param({"metadata": {"name": "n", "deletionTimestamp": "x"}}, False, id="rule-4-being-deleted"),
    ],
)
def test_nodes_that_count(document: dict[str, Any], counts: bool) -> None:
    assert balances(to_view(document, Node)) is counts


def test_rule_4_services_hear_of_nodes() -> None:
    stage = stage_with(node("node-1"))
    stage.create("services", service())
    stage.at(5)
    stage.create("nodes", node("node-2"))
    stage.at(6)
    assert reasons(stage)[-1] == (5.0, "UpdatedLoadBalancer")
    excluded = {"metadata": {"labels": {EXCLUDED: "true"}}}
    stage.patch("nodes", "node-1", excluded)
    stage.patch("nodes", "node-2", excluded)
    stage.at(7)
    assert reasons(stage)[-1] == (6.0, "UnAvailableLoadBalancer")


def test_service_that_was_there_before_any_node_has_its_turn() -> None:
    stage = stage_with()
    stage.create("services", service())
    stage.at(5)
    assert reasons(stage) == []
    stage.create("nodes", node("node-1"))
    stage.at(10)
    assert len(ingress(stage)) == 1


def test_restarted_controller_leaves_what_it_finds() -> None:
    stage = stage_with(node("node-1"))
    stage.create("services", service())
    stage.at(5)
    before, told = ingress(stage), reasons(stage)
    old = stage._controllers[0]
    stage.restart(old, LoadBalancerController(stage.caches["services"], stage.caches["nodes"], SIMULATED))
    stage.at(20)
    assert (ingress(stage), reasons(stage)) == (before, told)
