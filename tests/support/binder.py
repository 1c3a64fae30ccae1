"""A scheduler for stages: binds each pod to the emptiest node that would have it, pinned pods to their node."""

from collections.abc import Iterable
from typing import Any

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.client.actions import Bind
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.semantics.pods.node_selectors import selects_node
from doorman.semantics.taints.matching import first_untolerated_or_none


def pod_keys(change: ObjectChange) -> Iterable[str]:
    pod: Pod | None = change.new
    return (pod.metadata.key,) if pod is not None and not pod.spec.node_name else ()


class Binder:
    name = "binder"
    workers = 1

    def __init__(self, nodes: Any, pods: Any) -> None:
        self._nodes = nodes
        self._pods = pods
        self._waiting: dict[str, None] = {}
        self.sources = (Source("pods", pod_keys), Source("nodes", self._node_keys))

    def _node_keys(self, change: ObjectChange) -> Iterable[str]:
        return list(self._waiting)

    def start(self, now: Instant) -> Result:
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        return None

    def reconcile(self, key: str, now: Instant) -> Result:
        pod = self._pods.get(key)
        self._waiting.pop(key, None)
        if pod is None or pod.spec.node_name:
            return DONE
        fitting = [
            node
            for node in self._nodes.list()
            if selects_node(pod.spec, node.metadata.labels, node.metadata.name)
            and first_untolerated_or_none(node.spec.taints, pod.spec.tolerations) is None
        ]
        if not fitting:
            self._waiting[key] = None
            return DONE
        best = min(fitting, key=lambda node: (len(self._pods.by("nodeName", node.metadata.name)), node.metadata.name))
        bind = Bind(
            namespace=pod.metadata.namespace, name=pod.metadata.name, uid=pod.metadata.uid, node=best.metadata.name
        )
        return Result(actions=(bind,))
