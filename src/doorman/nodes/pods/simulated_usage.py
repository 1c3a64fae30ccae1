"""What pods on simulated nodes use: the figures behind `kubectl top` and autoscalers.

Rules
-----
1. Pods that run on a simulated node use something, unless the node has not been heard of: whoever asks its kubelet
   would get no answer.
2. A pod uses what its annotations `doorman.dev/cpu-usage` and `doorman.dev/memory-usage` say, else what those of the
   workload it belongs to say: of its Deployment, and not of the ReplicaSet in between, which keeps copies.
3. `doorman.dev/cpu-load` and `doorman.dev/memory-load` of a workload are a load that its running pods share evenly: the
   more there are, the less each of them has to do.
4. Otherwise it uses half of what it requests, and next to nothing where it requests nothing.
5. Every container uses half of what it requests, and the first one all the rest of what its pod uses.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.machinery.quantity import QuantityError, milli_value
from doorman.api.views.meta import ObjectMeta, controller_of
from doorman.api.views.nodes import Node
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.client.informer_cache import ListerOf
from doorman.nodes.node_annotations import CPU_LOAD, CPU_USAGE, MEMORY_LOAD, MEMORY_USAGE, is_simulated

OWNERS: Final = {
    "ReplicaSet": "replicasets.apps",
    "Deployment": "deployments.apps",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
    "ReplicationController": "replicationcontrollers",
    "Job": "jobs.batch",
    "CronJob": "cronjobs.batch",
}
"""Kinds that pods belong to, directly or not, and their resources."""
OWNERS_MAX: Final = 4
IDLE: Final = {"cpu": 1, "memory": 10 * 1000 << 20}
"""Of a container that requests nothing, in thousandths."""
_ANNOTATIONS: Final = (("cpu", CPU_USAGE, CPU_LOAD), ("memory", MEMORY_USAGE, MEMORY_LOAD))


class ContainerUsage(msgspec.Struct, frozen=True, kw_only=True):
    """In thousandths: of a core, and of a byte."""

    name: str
    cpu: int
    memory: int


class PodUsage(msgspec.Struct, frozen=True):
    pod: Pod
    containers: tuple[ContainerUsage, ...]


class SimulatedUsage:
    def __init__(self, pods: ListerOf[Pod], nodes: ListerOf[Node], owners: Mapping[str, ListerOf[Any]]) -> None:
        """`owners`: listers of `OWNERS`, by kind."""
        self._pods = pods
        self._nodes = nodes
        self._owners = owners

    def in_namespace(self, namespace: str) -> list[PodUsage]:
        """Of every pod that has one, in order; of all namespaces if none is named."""
        pods = self._pods.by(BY_NAMESPACE, namespace) if namespace else self._pods.list()
        pods = sorted(pods, key=lambda pod: pod.metadata.key)
        running = [pod for pod in pods if pod.status.phase == "Running" and self.is_heard_of(pod.spec.node_name)]
        workloads = [self._workload_of(pod) for pod in running]
        sharers = Counter(workload.uid for workload in workloads if workload is not None)
        return [
            PodUsage(pod, decide_usage(pod, workload, sharers[workload.uid] if workload is not None else 1))
            for pod, workload in zip(running, workloads, strict=True)
        ]

    def is_heard_of(self, name: str) -> bool:
        """Rule 1."""
        node = self._nodes.get(name)
        if node is None or not is_simulated(node.metadata.annotations):
            return False
        ready = node.status.condition("Ready")
        return ready is not None and ready.status != "Unknown"

    def _workload_of(self, pod: Pod) -> ObjectMeta | None:
        """The topmost of those that it belongs to."""
        meta = pod.metadata
        for _ in range(OWNERS_MAX):
            reference = controller_of(meta)
            lister = self._owners.get(reference.kind) if reference is not None else None
            owner = lister.get(f"{meta.namespace}/{reference.name}") if lister is not None and reference else None
            if owner is None or reference is None or owner.metadata.uid != reference.uid:
                break
            meta = owner.metadata
        return meta if meta is not pod.metadata else None


def decide_usage(pod: Pod, workload: ObjectMeta | None, sharers: int) -> tuple[ContainerUsage, ...]:
    """Rules 2 to 5. `sharers`: how many pods of its workload run."""
    by_resource: dict[str, list[int]] = {}
    for resource, usage, load in _ANNOTATIONS:
        own = [_half_request(container.resources.requests, resource) for container in pod.spec.containers]
        said = _said(pod.metadata.annotations, usage)
        if said is None and workload is not None:
            said = _said(workload.annotations, usage)
            if said is None and (shared := _said(workload.annotations, load)) is not None:
                said = shared // sharers
        if said is not None and own:
            own[0] = max(0, said - sum(own[1:]))
        by_resource[resource] = own
    return tuple(
        ContainerUsage(name=container.name, cpu=by_resource["cpu"][at], memory=by_resource["memory"][at])
        for at, container in enumerate(pod.spec.containers)
    )


def _half_request(requests: Mapping[str, str], resource: str) -> int:
    text = requests.get(resource)
    return (milli_value(text) // 2 if text is not None else 0) or IDLE[resource]


def _said(annotations: Mapping[str, str], annotation: str) -> int | None:
    """What cannot be read counts as not said."""
    text = annotations.get(annotation)
    if text is None:
        return None
    try:
        amount = milli_value(text)
    except QuantityError:
        return None
    return amount if amount >= 0 else None
