"""What a kubelet may do: its own Node, the pods bound to it, and what those pods refer to.

It speaks of nobody but `system:node:<name>` in the group `system:nodes`. What it does not allow others may.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from doorman.api.identity import User
from doorman.api.machinery.field_selectors import FieldTerm
from doorman.api.views.access.rbac import PolicyRule
from doorman.api.well_known import MIRROR_POD_ANNOTATION, NODE_LEASE_NAMESPACE, NODE_USER_PREFIX, NODES_GROUP
from doorman.base.json_types import Document
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.semantics.pods.pod_references import Reference, references_of
from doorman.server.auth.rbac_authorizer import Decision
from doorman.server.auth.rbac_rules import rule_allows
from doorman.server.request import RequestInfo

REFERENCES_MAX: Final = 20_000
"""Pods whose references are remembered."""

_NO_OPINION: Final = Decision(False)
_ALLOWED: Final = Decision(True)
_READ: Final = ("get", "list", "watch")
_CHANGE: Final = ("update", "patch")
_OWN_VERBS: Final = ("get", "create", "update", "patch", "delete")


def node_of(user: User) -> str:
    """The node a user is the kubelet of, or nothing."""
    if user.name.startswith(NODE_USER_PREFIX) and NODES_GROUP in user.groups:
        return user.name.removeprefix(NODE_USER_PREFIX)
    return ""


def _no(reason: str) -> Decision:
    return Decision(False, f"node: {reason}")


class NodeAuthorizer:
    def __init__(self, cache: WatchCache, rules: Sequence[PolicyRule]) -> None:
        self._cache = cache
        self._rules = rules
        """What every node may do with resources that are not told apart by node."""
        self._references: dict[str, tuple[int, frozenset[Reference]]] = {}
        self._by_resource: Mapping[str, Callable[[str, RequestInfo], Decision]] = {
            "nodes": _node,
            "pods": self._pod,
            "secrets": self._read_object,
            "configmaps": self._read_object,
            "persistentvolumeclaims": self._claim,
            "persistentvolumes": self._get,
            "resourceclaims.resource.k8s.io": self._get,
            "volumeattachments.storage.k8s.io": self._get,
            "serviceaccounts": self._token,
            "leases.coordination.k8s.io": _lease,
            "csinodes.storage.k8s.io": _csi_node,
            "resourceslices.resource.k8s.io": self._slice,
        }

    def decide(self, user: User, info: RequestInfo) -> Decision:
        node = node_of(user)
        if not node:
            return _NO_OPINION
        if info.is_resource:
            named = f"{info.resource}.{info.group}" if info.group else info.resource
            own = self._by_resource.get(named)
            if own is not None:
                return own(node, info)
        return _ALLOWED if any(rule_allows(rule, info) for rule in self._rules) else _NO_OPINION

    def _pod(self, node: str, info: RequestInfo) -> Decision:
        match info.subresource:
            case "":
                if info.verb == "get":
                    return self._get(node, info)
                if info.verb in ("list", "watch"):
                    if _is_pinned(info.selector, node):
                        return _ALLOWED
                    return _no("can only list/watch pods with spec.nodeName field selector")
                return _allow_if(info.verb in ("create", "delete"))
            case "status":
                return _allow_if(info.verb in _CHANGE)
            case "eviction":
                return _allow_if(info.verb == "create")
        return _NO_OPINION

    def _read_object(self, node: str, info: RequestInfo) -> Decision:
        if info.verb not in _READ:
            return _no("can only read resources of this type")
        if info.subresource:
            return _no("cannot read subresource")
        if not info.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, info)

    def _claim(self, node: str, info: RequestInfo) -> Decision:
        if info.subresource == "status":
            if info.verb not in ("get", *_CHANGE):
                return _no("can only get/update/patch this type")
            return self._related(node, info)
        return self._get(node, info)

    def _get(self, node: str, info: RequestInfo) -> Decision:
        if info.verb != "get":
            return _no("can only get individual resources of this type")
        if info.subresource:
            return _no("cannot get subresource")
        return self._related(node, info)

    def _token(self, node: str, info: RequestInfo) -> Decision:
        if info.verb != "create" or not info.name:
            return _no("can only create tokens for individual service accounts")
        if info.subresource != "token":
            return _no("can only create token subresource of service account")
        return self._related(node, info)

    def _slice(self, node: str, info: RequestInfo) -> Decision:
        if info.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        match info.verb:
            case "create":
                return _ALLOWED
            case "get" | "update" | "patch" | "delete":
                return self._related(node, info)
            case "list" | "watch" | "deletecollection":
                if _is_pinned(info.selector, node):
                    return _ALLOWED
                return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")
        return _no(
            "only the following verbs are allowed for a ResourceSlice: "
            "get, watch, list, create, update, patch, delete, deletecollection"
        )

    # What belongs to a node

    def _related(self, node: str, info: RequestInfo) -> Decision:
        if not info.named:
            return _no("No Object name found")
        if self._is_related(node, info):
            return _ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def _is_related(self, node: str, info: RequestInfo) -> bool:
        name = info.named
        match info.resource:
            case "pods":
                found = self._cache.collection("pods").get(f"{info.namespace}/{name}")
                return found is not None and found.view.spec.node_name == node
            case "persistentvolumes":
                return self._has_volume(node, name)
            case "volumeattachments" | "resourceslices":
                found = self._cache.collection(f"{info.resource}.{info.group}").get(name)
                return found is not None and found.document().get("spec", {}).get("nodeName") == node
        wanted = (info.resource, name)
        return any(wanted in self._of_pod(pod) for pod in self._pods(node) if pod.namespace == info.namespace)

    def _has_volume(self, node: str, name: str) -> bool:
        volume = self._cache.collection("persistentvolumes").get(name)
        claim = volume.document().get("spec", {}).get("claimRef", {}) if volume is not None else {}
        wanted = ("persistentvolumeclaims", claim.get("name", ""))
        namespace = claim.get("namespace", "")
        return any(wanted in self._of_pod(pod) for pod in self._pods(node) if pod.namespace == namespace)

    def _pods(self, node: str) -> Iterable[Stored]:
        selection = Selection(storage="pods", fields=(FieldTerm("spec.nodeName", node, True),))
        return self._cache.collection("pods").select(selection)

    def _of_pod(self, pod: Stored) -> frozenset[Reference]:
        known = self._references.get(pod.key)
        if known is not None and known[0] == pod.revision:
            return known[1]
        if len(self._references) >= REFERENCES_MAX:
            self._references.clear()
        found = frozenset(references(pod.document()))
        self._references[pod.key] = (pod.revision, found)
        return found


def _node(node: str, info: RequestInfo) -> Decision:
    if info.subresource == "status":
        return _allow_if(info.verb in _CHANGE)
    if info.subresource:
        return _NO_OPINION
    if info.verb in _READ:
        if info.named == node:
            return _ALLOWED
        what = f"'{info.named}'" if info.named else "all nodes"
        return _no(f"node '{node}' cannot read {what}, only its own Node object")
    return _allow_if(info.verb in ("create", *_CHANGE))


def _lease(node: str, info: RequestInfo) -> Decision:
    if info.verb not in _OWN_VERBS:
        return _no("can only get, create, update, patch, or delete a node lease")
    if info.namespace != NODE_LEASE_NAMESPACE:
        return _no(f'can only access leases in the "{NODE_LEASE_NAMESPACE}" system namespace')
    # The name of one that is to be created is NodeRestriction's to check: it stands in the body.
    if info.verb != "create" and info.name != node:
        return _no("can only access node lease with the same name as the requesting node")
    return _ALLOWED


def _csi_node(node: str, info: RequestInfo) -> Decision:
    if info.verb not in _OWN_VERBS:
        return _no("can only get, create, update, patch, or delete a CSINode")
    if info.subresource:
        return _no("cannot authorize CSINode subresources")
    if info.verb != "create" and info.name != node:
        return _no("can only access CSINode with the same name as the requesting node")
    return _ALLOWED


def _allow_if(is_allowed: bool) -> Decision:
    return _ALLOWED if is_allowed else _NO_OPINION


def _is_pinned(selector: Sequence[FieldTerm], node: str) -> bool:
    return any(term.field == "spec.nodeName" and term.is_equal and term.value == node for term in selector)


def references(pod: Document) -> Iterator[Reference]:
    """Everything in its namespace that a pod needs. A mirror pod is a node's own word and opens nothing."""
    if MIRROR_POD_ANNOTATION not in pod.get("metadata", {}).get("annotations", {}):
        yield from references_of(pod)
