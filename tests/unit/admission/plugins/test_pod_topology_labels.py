"""PodTopologyLabels."""

from typing import Any

from doorman.admission.plugins.pod_topology_labels import PodTopologyLabels

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
NODE = {"metadata": {"name": "n1", "labels": {ZONE: "z", REGION: "r", "kubernetes.io/hostname": "n1"}}}


def test_binding_carries_zone_and_region(world: Any, asked: Any) -> None:
    binding: dict[str, Any] = {"metadata": {"name": "p"}, "target": {"name": "n1"}}
    PodTopologyLabels().admit(asked(binding, subresource="binding"), world(nodes=[NODE]), 0.0)
    assert binding["metadata"]["labels"] == {ZONE: "z", REGION: "r"}


def test_pod_that_is_born_bound_gets_them_too(world: Any, asked: Any) -> None:
    pod = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"nodeName": "n1"}}
    PodTopologyLabels().admit(asked(pod), world(nodes=[NODE]), 0.0)
    assert pod["metadata"]["labels"] == {"a": "b", ZONE: "z", REGION: "r"}


def test_unbound_pods_and_unknown_nodes_are_left_alone(world: Any, asked: Any) -> None:
    for spec in ({}, {"nodeName": "ghost"}):
        pod: dict[str, Any] = {"metadata": {"name": "p"}, "spec": spec}
        PodTopologyLabels().admit(asked(pod), world(nodes=[NODE]), 0.0)
        assert "labels" not in pod["metadata"]
