"""PodTopologyLabels: a pod carries the zone and region of the node it is bound to."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.contract import CREATE, Attributes, Cluster, Interest
from doorman.base.clock import Instant

INTERESTS: Final = (
    Interest(resource="pods", operations=CREATE),
    Interest(resource="pods", subresource="binding", operations=CREATE),
    Interest(resource="bindings", operations=CREATE),
)

TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def decide_labels(node: Mapping[str, Any]) -> dict[str, str]:
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    return {label: labels[label] for label in TOPOLOGY_LABELS if label in labels}


class PodTopologyLabels:
    name = "PodTopologyLabels"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: Cluster, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        obj = attributes.obj
        is_pod = attributes.resource == "pods" and not attributes.subresource
        node_name = (obj.get("spec") or {}).get("nodeName") if is_pod else (obj.get("target") or {}).get("name")
        if not node_name:
            return
        node = cluster.get("nodes", "", node_name)
        if node is None:
            return
        if labels := decide_labels(node):
            metadata = obj.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
