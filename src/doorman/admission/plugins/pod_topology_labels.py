"""PodTopologyLabels: a pod carries the zone and region of the node it is bound to."""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.admission.plugin_contract import CREATE, Attributes, ClusterReader, Interest
from doorman.base.clock import Instant

INTERESTS: Final = (
    Interest(resource="pods", operations=CREATE),
    Interest(resource="pods", subresource="binding", operations=CREATE),
    Interest(resource="bindings", operations=CREATE),
)

TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def decide_labels(of_node: Mapping[str, str]) -> dict[str, str]:
    return {label: of_node[label] for label in TOPOLOGY_LABELS if label in of_node}


class PodTopologyLabels:
    name = "PodTopologyLabels"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        obj = attributes.obj
        is_pod = attributes.resource == "pods" and not attributes.subresource
        node_name = (obj.get("spec") or {}).get("nodeName") if is_pod else (obj.get("target") or {}).get("name")
        if not node_name:
            return
        of_node = cluster.labels("nodes", "", node_name)
        if of_node is None:
            return
        if labels := decide_labels(of_node):
            metadata = obj.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
