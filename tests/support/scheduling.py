"""A desk for scheduler tests: nodes and pods in a line, a clock moved by hand, outcomes carried out at once."""

from typing import Any

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.base.clock import Instant
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.outcomes import Outcome, Placed, Rejected
from doorman.scheduler.scheduler import Scheduler
from support.objects import Document, taint, toleration

START: Instant = 1000.0
RUNS_MAX = 100


def make_node(
    name: str,
    *,
    taints: str = "",
    labels: dict[str, str] | None = None,
    unschedulable: bool = False,
    images: dict[str, int] | None = None,
    **capacity: str,
) -> Node:
    """4 cores, 8Gi and 110 pods unless said otherwise; `__` in a resource's name stands for `/`, `_` for `-`."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"} | {
        key.replace("__", "/").replace("_", "-"): amount for key, amount in capacity.items()
    }
    document = {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name} | (labels or {})},
        "spec": {"taints": [taint(one) for one in taints.split()], "unschedulable": unschedulable},
        "status": {
            "allocatable": amounts,
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
        },
    }
    return msgspec.convert(document, Node)


def make_pod(
    name: str,
    *,
    namespace: str = "default",
    tolerations: str = "",
    labels: dict[str, str] | None = None,
    requests: dict[str, str] | None = None,
    priority: int = 0,
    node: str = "",
    metadata: Document | None = None,
    status: Document | None = None,
    ports: list[Document] | None = None,
    **spec: Any,
) -> Pod:
    container = {"name": "c", "image": "registry.example/app:1", "resources": {"requests": requests or {}}}
    container["ports"] = ports or []
    document = {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}}
        | (metadata or {}),
        "spec": {
            "containers": [container],
            "tolerations": [toleration(one) for one in tolerations.split()],
            "priority": priority,
            "nodeName": node,
            "schedulerName": "default-scheduler",
        }
        | spec,
        "status": status or {},
    }
    return msgspec.convert(document, Pod)


class Desk:
    """Story verbs around one scheduler. Placed pods are bound and victims deleted at once unless told otherwise."""

    def __init__(
        self,
        config: SchedulerConfig | None = None,
        *,
        binds: bool = True,
        comparison_operators: bool = True,
        **more: Any,
    ) -> None:
        self.scheduler = Scheduler(config or SchedulerConfig(), comparison_operators=comparison_operators, **more)
        self.now = START
        self.binds = binds
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.messages: dict[str, str] = {}
        self.attempts: list[str] = []

    def node(self, name: str, **more: Any) -> None:
        self.put_node(make_node(name, **more))

    def put_node(self, node: Node) -> None:
        old = self.nodes.get(node.metadata.name)
        self.nodes[node.metadata.name] = node
        self.scheduler.node_changed(old, node, self.now)

    def remove_node(self, name: str) -> None:
        self.scheduler.node_changed(self.nodes.pop(name), None, self.now)

    def pod(self, name: str, **more: Any) -> None:
        self.put_pod(make_pod(name, **more))

    def put_pod(self, pod: Pod) -> None:
        old = self.pods.get(pod.metadata.name)
        self.pods[pod.metadata.name] = pod
        self.scheduler.pod_changed(old, pod, self.now)

    def remove_pod(self, name: str) -> None:
        self.scheduler.pod_changed(self.pods.pop(name), None, self.now)

    def change_pod(self, name: str, **parts: Document) -> None:
        """Merge into metadata, spec or status."""
        document = msgspec.to_builtins(self.pods[name])
        for part, changes in parts.items():
            document[part] = document.get(part, {}) | changes
        self.put_pod(msgspec.convert(document, Pod))

    def budget(self, name: str, allowed: int, labels: dict[str, str]) -> None:
        document = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed},
        }
        budget = msgspec.convert(document, PodDisruptionBudget)
        self.scheduler.object_changed("poddisruptionbudgets.policy", None, budget, self.now)

    def run(self, *, pods_max: int = 1000) -> list[Outcome]:
        """One call of `schedule`, its outcomes carried out."""
        outcomes = self.scheduler.schedule(self.now, pods_max=pods_max)
        for outcome in outcomes:
            name = outcome.pod.metadata.name
            self.attempts.append(name)
            match outcome:
                case Placed() if self.binds:
                    self.change_pod(name, spec={"nodeName": outcome.node}, status={"nominatedNodeName": ""})
                    self.scheduler.bind_done(outcome.pod.metadata.key)
                    self.messages.pop(name, None)
                case Rejected():
                    self.messages[name] = outcome.message
                    self._carry_out(outcome)
                case _:
                    pass
        return outcomes

    def settle(self) -> None:
        """Run until nothing more happens at this instant."""
        for _ in range(RUNS_MAX):
            if not self.run():
                return
        raise AssertionError("the scheduler never comes to rest")

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.settle()

    def where(self, name: str) -> str:
        return self.pods[name].spec.node_name

    def _carry_out(self, rejected: Rejected) -> None:
        if rejected.nominated is not None:
            self.change_pod(rejected.pod.metadata.name, status={"nominatedNodeName": rejected.nominated})
        if rejected.victims and self.binds:
            *others, last = [victim.pod.metadata for victim in rejected.victims]
            for victim in others:
                self.remove_pod(victim.name)
            self.scheduler.preempting_last(rejected.pod.metadata.key, last.key, self.now)
            self.remove_pod(last.name)
            self.scheduler.preempted(rejected.pod.metadata.key, self.now)
