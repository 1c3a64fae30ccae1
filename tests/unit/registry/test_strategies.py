"""What a kind does when it is written: status, generation, and rules of its own."""

import copy
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.registry.strategies import strategy_of

NOW = 1767225600.0
TIME = "2026-01-01T00:00:00Z"


def written(resource: str, new: dict[str, Any], old: dict[str, Any] | None = None, subresource: str = "") -> Any:
    """The document after its kind's own rules."""
    kind = builtin_kinds().named(resource)
    doc = copy.deepcopy(new)
    doc.setdefault("metadata", {"name": "x"})
    if (default_times := strategy_of(kind).default_times) is not None:
        default_times(doc, NOW)
    if old is None:
        strategy_of(kind).create(kind, doc, NOW)
    else:
        before = {"metadata": {"name": "x"}, **copy.deepcopy(old)}
        strategy_of(kind).for_update(subresource)(kind, doc, before, NOW)
    return doc


@pytest.mark.parametrize(
    ("resource", "doc", "status"),
    [
        pytest.param("deployments.apps", {"status": {"replicas": 3}}, None, id="a-clients-status-is-dropped"),
        pytest.param("nodes", {"status": {"phase": "x"}}, {"phase": "x"}, id="but-a-kubelets-is-kept"),
        pytest.param(
            "pods",
            {"spec": {}, "status": {"phase": "Running"}},
            {"phase": "Pending", "qosClass": "BestEffort"},
            id="a-pod-begins-pending",
        ),
        pytest.param("persistentvolumeclaims", {"status": {"phase": "Bound"}}, {"phase": "Pending"}, id="a-claim"),
        pytest.param("namespaces", {}, {"phase": "Active"}, id="a-namespace-begins-active"),
        pytest.param("services", {"spec": {"type": "ClusterIP"}}, {"loadBalancer": {}}, id="a-service"),
    ],
)
def test_status_of_a_new_object(resource: str, doc: dict[str, Any], status: Any) -> None:
    assert written(resource, doc).get("status") == status


def test_main_endpoint_leaves_status_and_status_leaves_the_rest() -> None:
    old = {"metadata": {"name": "x", "generation": 1}, "spec": {"replicas": 1}, "status": {"replicas": 1}}
    new = {"metadata": {"name": "x", "generation": 1}, "spec": {"replicas": 2}, "status": {"replicas": 2}}
    main = written("replicasets.apps", new, old)
    assert (main["spec"], main["status"], main["metadata"]["generation"]) == ({"replicas": 2}, {"replicas": 1}, 2)
    status = written("replicasets.apps", new, old, "status")
    assert (status["spec"], status["status"], status["metadata"]["generation"]) == ({"replicas": 1}, {"replicas": 2}, 1)


def test_daemon_set_counts_its_templates() -> None:
    key = "deprecated.daemonset.template.generation"
    first = written("daemonsets.apps", {"spec": {"template": {"a": 1}}})
    assert first["metadata"]["annotations"][key] == "1"
    same = written("daemonsets.apps", {**first, "metadata": {"name": "x"}}, first)
    assert same["metadata"]["annotations"][key] == "1"
    other = written("daemonsets.apps", {"metadata": {"name": "x"}, "spec": {"template": {"a": 2}}}, first)
    assert other["metadata"]["annotations"][key] == "2"


def test_taint_rule_is_stamped_and_stamped_anew_with_its_effect() -> None:
    taint = {"key": "k", "effect": "None"}
    first = written("devicetaintrules.resource.k8s.io", {"spec": {"taint": taint}})
    assert first["spec"]["taint"]["timeAdded"] == TIME
    old = {
        "spec": {"taint": {**taint, "timeAdded": "2025-01-01T00:00:00Z"}},
        "metadata": {"name": "x", "generation": 1},
    }
    same = written("devicetaintrules.resource.k8s.io", {**old}, old)
    assert same["spec"]["taint"]["timeAdded"] == "2025-01-01T00:00:00Z"
    changed = {"spec": {"taint": {**old["spec"]["taint"], "effect": "NoExecute"}}, "metadata": {"name": "x"}}
    assert written("devicetaintrules.resource.k8s.io", changed, old)["spec"]["taint"]["timeAdded"] == TIME


def test_api_service_of_this_server_is_available_at_once() -> None:
    local = written("apiservices.apiregistration.k8s.io", {"spec": {"version": "v1"}})
    assert local["status"]["conditions"][0] == {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": TIME,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    assert "status" not in written("apiservices.apiregistration.k8s.io", {"spec": {"service": {"name": "s"}}})


def test_label_keys_of_a_pod_become_expressions_with_its_own_values() -> None:
    keys = {"labelSelector": {}, "matchLabelKeys": ["hash", "absent"], "mismatchLabelKeys": ["tenant"]}
    spec = {
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [keys]},
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": {**keys, "labelSelector": {}}}]
            },
        },
        "topologySpreadConstraints": [{"labelSelector": {}, "matchLabelKeys": ["hash"]}, {"matchLabelKeys": ["hash"]}],
    }
    doc = written("pods", {"metadata": {"name": "x", "labels": {"hash": "1", "tenant": "t"}}, "spec": spec})["spec"]
    mine = {"key": "hash", "operator": "In", "values": ["1"]}
    both = {"matchExpressions": [mine, {"key": "tenant", "operator": "NotIn", "values": ["t"]}]}
    (near,) = doc["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (far,) = doc["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert near["labelSelector"] == far["podAffinityTerm"]["labelSelector"] == both
    assert doc["topologySpreadConstraints"] == [
        {"labelSelector": {"matchExpressions": [mine]}, "matchLabelKeys": ["hash"]},
        {"matchLabelKeys": ["hash"]},
    ]


def test_endpoint_slice_counts_topology_it_does_not_keep() -> None:
    kind = builtin_kinds().named("endpointslices.discovery.k8s.io")
    old = {"metadata": {"generation": 1}, "endpoints": [{"addresses": ["a"]}], "ports": None}
    new = {"metadata": {}, "endpoints": [{"addresses": ["a"], "deprecatedTopology": {"z": "1"}}], "ports": []}
    strategy_of(kind).update(kind, new, old, 0.0)
    assert new == {"metadata": {"generation": 2}, "endpoints": [{"addresses": ["a"]}], "ports": None}


def test_elections_of_leases_are_off() -> None:
    kind = builtin_kinds().named("leases.coordination.k8s.io")
    doc = {"metadata": {}, "spec": {"holderIdentity": "h", "strategy": "x/y", "preferredHolder": "z"}}
    strategy_of(kind).create(kind, doc, 0.0)
    assert doc["spec"] == {"holderIdentity": "h"}


def test_owners_see_what_cannot_be_written_as_it_was() -> None:
    kind = builtin_kinds().named("deployments.apps")
    old = {"metadata": {"labels": {"a": "1"}}, "spec": {"replicas": 1}, "status": {"replicas": 1}}
    new = {"metadata": {"labels": {"a": "2"}}, "spec": {"replicas": 2}, "status": {"replicas": 2}}
    assert strategy_of(kind).owned(kind, "", new, old) == {**new, "status": {"replicas": 1}}
    assert strategy_of(kind).owned(kind, "status", new, old) == {**old, "status": {"replicas": 2}}
    assert strategy_of(kind).owned(kind, "scale", new, old) is None
