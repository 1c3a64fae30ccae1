"""DedicatedNodes: pods that nodes are set apart for are sent there, all others are kept out.

The rules are those of `doorman.semantics.taints.dedicated_nodes`. Tolerations that a stored pod has already are not
looked at again: who got in stays, unless the taint evicts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE_AND_UPDATE, Attributes, ClusterReader, Interest, Operation, refusal
from doorman.api.views.doorman_dev import DEDICATED_NODES, DedicatedNodes
from doorman.api.views.meta import to_view
from doorman.base.clock import Instant
from doorman.semantics.library import to_toleration
from doorman.semantics.taints.dedicated_nodes import is_for, toleration_for, trespass_or_none, with_required_terms
from doorman.semantics.taints.toleration_lists import add_or_update_toleration, toleration_document
from doorman.semantics.taints.toleration_policy import describe

INTERESTS: Final = (Interest(resource="pods", operations=CREATE_AND_UPDATE),)


def decide_refusal(
    one: DedicatedNodes, pod_spec: Mapping[str, Any], attributes: Attributes, cluster: ClusterReader
) -> str:
    """Why a pod that the nodes are not for is refused; empty when it is not."""
    old = [to_toleration(found) for found in _spec(attributes.old).get("tolerations") or ()]
    new = [to_toleration(found) for found in pod_spec.get("tolerations") or ()]
    node_name = pod_spec.get("nodeName", "") if attributes.operation is Operation.CREATE else ""
    node = cluster.get("nodes", "", node_name) if node_name else None
    found = trespass_or_none(
        one,
        [toleration for toleration in new if toleration not in old],
        namespace=attributes.namespace,
        node_labels=(node["metadata"].get("labels") or {}) if node is not None else None,
    )
    if found is None:
        return ""
    whose = f'nodes that DedicatedNodes "{one.metadata.name}" sets apart for others'
    if isinstance(found, str):
        return f'node "{node_name}" is one of the {whose}'
    return f'toleration "{describe(found)}" lets the pod onto {whose}'


class DedicatedNodesPlugin:
    name = "DedicatedNodes"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        if attributes.operation is not Operation.CREATE:
            return
        mine = [one for one in _all(cluster) if _is_for(one, attributes, cluster)]
        if not mine:
            return
        assert attributes.obj is not None, "a create has an object"
        spec = attributes.obj.setdefault("spec", {})
        tolerations = tuple(to_toleration(found) for found in spec.get("tolerations") or ())
        for one in mine:
            tolerations, _ = add_or_update_toleration(tolerations, toleration_for(one))
        spec["tolerations"] = [toleration_document(one) for one in tolerations]
        spec["affinity"] = with_required_terms(spec.get("affinity"), mine)

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        spec = _spec(attributes.obj)
        for one in _all(cluster):
            if not _is_for(one, attributes, cluster) and (why := decide_refusal(one, spec, attributes, cluster)):
                raise refusal(attributes, why)


def _all(cluster: ClusterReader) -> Sequence[DedicatedNodes]:
    found = cluster.list(DEDICATED_NODES)
    return [to_view(doc, DedicatedNodes) for doc in found] if found else ()


def _is_for(one: DedicatedNodes, attributes: Attributes, cluster: ClusterReader) -> bool:
    namespace = cluster.get("namespaces", "", attributes.namespace) or {"metadata": {}}
    return is_for(
        one,
        namespace=attributes.namespace,
        namespace_labels=namespace["metadata"].get("labels") or {},
        groups=attributes.user.groups,
    )


def _spec(pod: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (pod or {}).get("spec") or {}
