"""NodeRestriction: what a kubelet may write about itself, and that it writes about nothing else.

It concerns users of the group `system:nodes` whose name is `system:node:` and the name of a node.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import (
    ANY,
    WRITES,
    Attributes,
    ClusterReader,
    Interest,
    Operation,
    RequestPreview,
    refusal,
    requested_name,
)
from doorman.admission.plugins.nodes.node_labels import decide_forbidden_labels
from doorman.api.identity import User
from doorman.api.well_known import LEASES, MIRROR_POD_ANNOTATION, NODE_LEASE_NAMESPACE, NODE_USER_PREFIX, NODES_GROUP
from doorman.base.clock import Instant
from doorman.base.errors import GroupResource, not_found
from doorman.base.go_format import quote
from doorman.semantics.pods.pod_references import first_reference

_OF_A_WRITE: Final = ("resourceVersion", "managedFields")
_OF_AN_EXPANSION: Final = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")
_Json = Mapping[str, Any]  # a document or a part of one


def decide_node(user: User) -> str | None:
    """The node that a user is, None when it is none; empty when it is one without a name."""
    if NODES_GROUP not in user.groups or not user.name.startswith(NODE_USER_PREFIX):
        return None
    return user.name[len(NODE_USER_PREFIX) :]


def decide_passes(preview: RequestPreview, _cluster: ClusterReader) -> bool:
    """Who is no node passes, and so does what a kubelet reports of the status of a pod it runs.

    Of a status only labels and claims are looked at besides; labels no report changes.
    """
    me = decide_node(preview.user)
    if me is None:
        return True
    if not me or preview.names_claims:
        return False
    return me == preview.node and (preview.subresource, preview.operation) == ("status", Operation.UPDATE)


def decide_lease_passes(preview: RequestPreview, _cluster: ClusterReader) -> bool:
    """Who is no node passes, and so does the renewal of a node's own lease."""
    me = decide_node(preview.user)
    if me is None:
        return True
    return bool(me) and me == preview.node and (preview.subresource, preview.operation) == ("", Operation.UPDATE)


INTERESTS: Final = (
    *(
        Interest(resource=resource, subresource=ANY, operations=WRITES, passes=decide_passes)
        for resource in (
            "pods", "nodes", "serviceaccounts", "persistentvolumeclaims", "csinodes.storage.k8s.io",
            "resourceslices.resource.k8s.io",
        )
    ),
    Interest(resource=LEASES, subresource=ANY, operations=WRITES, passes=decide_lease_passes),
)  # fmt: skip


def decide_mirror_pod_fault(pod: _Json, me: str, node: _Json | None) -> str:
    """Why a kubelet may not create this pod, empty when it may."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    quoted = quote(me)
    if MIRROR_POD_ANNOTATION not in (metadata.get("annotations") or {}):
        return f"pod does not have {quote(MIRROR_POD_ANNOTATION)} annotation, node {quoted} can only create mirror pods"
    if spec.get("nodeName") != me:
        return f"node {quoted} can only create pods with spec.nodeName set to itself"
    if fault := _owner_fault(metadata.get("ownerReferences") or (), me, node):
        return fault
    referenced = first_reference(pod)
    return f"node {quoted} can not create pods that reference {referenced}" if referenced else ""


def decide_node_fault(new: _Json, old: _Json, me: str) -> str:
    """Why a kubelet may not change its node so, empty when it may."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    quoted = quote(me)
    if (after.get("taints") or []) != (before.get("taints") or []):
        return f"node {quoted} is not allowed to modify taints"
    if (new["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
        return f"node {quoted} is not allowed to modify ownerReferences"
    labels = decide_forbidden_labels(new["metadata"].get("labels") or {}, old["metadata"].get("labels") or {})
    return f"is not allowed to modify labels: {', '.join(labels)}" if labels else ""


def decide_pod_status_fault(new: _Json, old: _Json, me: str) -> str:
    quoted = quote(me)
    if (old.get("spec") or {}).get("nodeName") != me:
        return f"node {quoted} can only update pod status for pods with spec.nodeName set to itself"
    if (new["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        return f"node {quoted} cannot update labels through pod status"
    after, before = new.get("status") or {}, old.get("status") or {}
    if (after.get("resourceClaimStatuses") or []) != (before.get("resourceClaimStatuses") or []):
        return f"node {quoted} cannot update resource claim statues"
    if (after.get("extendedResourceClaimStatus") or {}) != (before.get("extendedResourceClaimStatus") or {}):
        return f"node {quoted} cannot update extended resource claim status"
    return ""


def decide_claim_changes(new: _Json, old: _Json) -> list[str]:
    """What of a claim is changed that is not a kubelet's to change."""
    changed: list[str] = []
    for part, own in (("metadata", _OF_A_WRITE), ("spec", ()), ("status", _OF_AN_EXPANSION)):
        after, before = new.get(part) or {}, old.get(part) or {}
        names = [name for name in sorted({**after, **before}) if name not in own]
        changed.extend(f"{part}.{name}" for name in names if (after.get(name) or None) != (before.get(name) or None))
    return changed


class NodeRestriction:
    name = "NodeRestriction"
    interests: Sequence[Interest] = INTERESTS

    def __init__(self) -> None:
        self._rules: Mapping[str, Callable[[Attributes, ClusterReader, str], None]] = {
            "pods": self._pod,
            "nodes": self._node,
            "serviceaccounts": self._token,
            "persistentvolumeclaims": self._claim,
            "leases": self._lease,
            "csinodes": self._csi_node,
            "resourceslices": self._slice,
        }

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        me = decide_node(attributes.user)
        if me is None:
            return
        if not me:
            raise refusal(attributes, f"could not determine node from user {quote(attributes.user.name)}")
        self._rules[attributes.resource](attributes, cluster, me)

    def _pod(self, attributes: Attributes, cluster: ClusterReader, me: str) -> None:
        match attributes.subresource:
            case "":
                self._whole_pod(attributes, cluster, me)
            case "status":
                if attributes.operation is not Operation.UPDATE:
                    raise refusal(attributes, f"unexpected operation {quote(attributes.operation)}")
                if fault := decide_pod_status_fault(attributes.obj or {}, attributes.old or {}, me):
                    raise refusal(attributes, fault)
            case "eviction":
                pod = cluster.get("pods", attributes.namespace, attributes.name)
                if pod is None:
                    raise not_found(GroupResource("", "pods"), attributes.name)
                if (pod.get("spec") or {}).get("nodeName") != me:
                    raise refusal(attributes, f"node {me} can only evict pods with spec.nodeName set to itself")
            case other:
                text = f"unexpected pod subresource {quote(other)}, only 'status' and 'eviction' are allowed"
                raise refusal(attributes, text)

    def _whole_pod(self, attributes: Attributes, cluster: ClusterReader, me: str) -> None:
        match attributes.operation:
            case Operation.CREATE:
                assert attributes.obj is not None, "a create has an object"
                fault = decide_mirror_pod_fault(attributes.obj, me, cluster.get("nodes", "", me))
            case Operation.DELETE:
                is_mine = ((attributes.old or {}).get("spec") or {}).get("nodeName") == me
                fault = "" if is_mine else f"node {quote(me)} can only delete pods with spec.nodeName set to itself"
            case other:
                fault = f"unexpected operation {quote(other)}, node {quote(me)} can only create and delete mirror pods"
        if fault:
            raise refusal(attributes, fault)

    def _node(self, attributes: Attributes, _cluster: ClusterReader, me: str) -> None:
        if attributes.name != me:
            raise refusal(attributes, f"node {quote(me)} is not allowed to modify node {quote(attributes.name)}")
        if attributes.operation is Operation.CREATE and not attributes.subresource:
            labels = decide_forbidden_labels((attributes.obj or {})["metadata"].get("labels") or {}, {})
            if labels:
                text = f"node {quote(me)} is not allowed to set the following labels: {', '.join(labels)}"
                raise refusal(attributes, text)
        if attributes.operation is Operation.UPDATE:
            fault = decide_node_fault(attributes.obj or {}, attributes.old or {}, me)
            if fault:
                raise refusal(attributes, fault)

    def _token(self, attributes: Attributes, cluster: ClusterReader, me: str) -> None:
        """A token for a pod that runs here, and for nothing else."""
        if attributes.subresource != "token":
            return
        ref = ((attributes.obj or {}).get("spec") or {}).get("boundObjectRef") or {}
        if ref.get("apiVersion") != "v1" or ref.get("kind") != "Pod" or not ref.get("name"):
            raise refusal(attributes, "node requested token not bound to a pod")
        if not ref.get("uid"):
            raise refusal(attributes, "node requested token with a pod binding without a uid")
        pod = cluster.get("pods", attributes.namespace, ref["name"])
        if pod is None:
            raise not_found(GroupResource("", "pods"), ref["name"])
        if pod["metadata"].get("uid") != ref["uid"]:
            text = f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
            raise refusal(attributes, text + "The object might have been deleted and then recreated")
        if (pod.get("spec") or {}).get("nodeName") != me:
            raise refusal(attributes, "node requested token bound to a pod scheduled on a different node")

    def _claim(self, attributes: Attributes, _cluster: ClusterReader, me: str) -> None:
        """How far an expansion has come, and nothing else."""
        if attributes.subresource != "status":
            raise refusal(attributes, "may only update PVC status")
        if attributes.operation is not Operation.UPDATE:
            raise refusal(attributes, f"unexpected operation {quote(attributes.operation)}")
        if changed := decide_claim_changes(attributes.obj or {}, attributes.old or {}):
            text = f"node {quote(me)} is not allowed to update fields other than status.quantity and status.conditions"
            raise refusal(attributes, f"{text}: {', '.join(changed)}")

    def _lease(self, attributes: Attributes, _cluster: ClusterReader, me: str) -> None:
        if attributes.namespace != NODE_LEASE_NAMESPACE:
            text = f"can only access leases in the {quote(NODE_LEASE_NAMESPACE)} system namespace"
            raise refusal(attributes, text)
        if requested_name(attributes) != me:
            raise refusal(attributes, "can only access node lease with the same name as the requesting node")

    def _csi_node(self, attributes: Attributes, _cluster: ClusterReader, me: str) -> None:
        if requested_name(attributes) != me:
            raise refusal(attributes, "can only access CSINode with the same name as the requesting node")

    def _slice(self, attributes: Attributes, _cluster: ClusterReader, me: str) -> None:
        doc = attributes.obj if attributes.operation is Operation.CREATE else attributes.old
        if ((doc or {}).get("spec") or {}).get("nodeName") != me:
            verb = attributes.operation.lower()
            raise refusal(attributes, f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _owner_fault(owners: Sequence[_Json], me: str, node: _Json | None) -> str:
    quoted = quote(me)
    if len(owners) > 1:
        return f"node {quoted} can only create pods with a single owner reference set to itself"
    owner: _Json = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", me):
        return f"node {quoted} can only create pods with an owner reference set to itself"
    if not owner.get("controller"):
        return f"node {quoted} can only create pods with a controller owner reference set to itself"
    if owner.get("blockOwnerDeletion"):
        return f"node {quoted} must not set blockOwnerDeletion on an owner reference"
    if node is None:
        raise not_found(GroupResource("", "nodes"), me)
    uid = node["metadata"].get("uid", "")
    if owner.get("uid") != uid:
        return f"node {me} UID mismatch: expected {owner.get('uid', '')} got {uid}"
    return ""
