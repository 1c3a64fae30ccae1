"""Nodes and pods at random, rich in all that decides where a pod may go."""

import random
from typing import Any

from doorman.base.clock import SystemClock
from doorman.base.instants import to_time

Json = dict[str, Any]
APPS = ("x", "y", "z")
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
KEYS, VALUES = ("a", "b", "gpu", "example.com/x"), ("", "1", "2", "10", "v")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute", "NoSchedule")
GPU = "example.com/gpu"
PRIORITY_CLASS: Json = {"metadata": {"name": "high"}, "value": 1000}


def ready_status(capacity: Json) -> Json:
    now = to_time(SystemClock().now())
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready",
             "lastHeartbeatTime": now, "lastTransitionTime": now}  # fmt: skip
    return {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}


class RandomPods:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def _is(self, share: float) -> bool:
        return self._rng.random() < share

    def _one(self, *choices: Any) -> Any:
        return self._rng.choice(choices)

    def node(self, name: str) -> Json:
        labels = {HOSTNAME: name}
        if self._is(0.8):
            labels[ZONE] = self._one("a", "b")
        if self._is(0.5):
            labels["disk"] = self._one("ssd", "hdd")
        if self._is(0.3):
            labels["num"] = self._one("1", "5", "x")
        capacity = {
            "cpu": self._one("1", "2", "4"),
            "memory": self._one("1Gi", "4Gi"),
            "pods": self._one("1", "2", "110"),
        }
        if self._is(0.3):
            capacity[GPU] = self._one("0", "1", "2")
        status = ready_status(capacity)
        if self._is(0.4):
            size = self._one(10, 300, 900) * 1024 * 1024
            status["images"] = [{"names": ["img:" + self._one("a", "b")], "sizeBytes": size}]
        spec: Json = {"taints": list(self._taints())}
        if self._is(0.12):
            spec["unschedulable"] = True
        return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    def _taints(self) -> list[Json]:
        found: dict[tuple[str, str], Json] = {}
        for _ in range(self._one(0, 0, 0, 1, 1, 2)):
            taint = {"key": self._one(*KEYS), "effect": self._one(*EFFECTS), "value": self._one(*VALUES)}
            found.setdefault((taint["key"], taint["effect"]), taint)
        return list(found.values())

    def toleration(self) -> Json:
        operator = self._one("Equal", "Exists", "Exists", "Gt", "Lt", "")
        made = {"operator": operator, "key": self._one(*KEYS)}
        if operator == "Exists":
            made["key"] = self._one(*KEYS, "")
        else:
            made["value"] = self._one("1", "2", "5", "10") if operator in ("Gt", "Lt") else self._one(*VALUES)
        if self._is(0.7):
            made["effect"] = self._one(*EFFECTS)
        return {key: value for key, value in made.items() if value}

    def pod(self, name: str) -> Json:
        spec = self._containers()
        if self._is(0.2):
            spec["nodeSelector"] = {self._one("disk", ZONE): self._one("ssd", "a", "b")}
        affinity = self._affinity()
        if affinity:
            spec["affinity"] = affinity
        if self._is(0.3):
            spec["topologySpreadConstraints"] = [self._spread()]
        if self._is(0.15):
            spec["priorityClassName"] = PRIORITY_CLASS["metadata"]["name"]
        if self._is(0.05):
            spec["schedulingGates"] = [{"name": "gate"}]
        return self._of(name, spec)

    def bound_pod(self, name: str, node: str) -> Json:
        spec = self._containers() | {"nodeName": node}
        if self._is(0.2):
            spec["affinity"] = {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [self._pod_term()]}
            }
        return self._of(name, spec)

    def _of(self, name: str, spec: Json) -> Json:
        return {"metadata": {"name": name, "labels": {"app": self._one(*APPS)}}, "spec": spec}

    def _containers(self) -> Json:
        container: Json = {"name": "c", "image": "img:" + self._one("a", "b", "c"), "resources": {"requests": {}}}
        requests = container["resources"]["requests"]
        if self._is(0.6):
            requests["cpu"] = self._one("100m", "500m", "1", "1500m", "3")
        if self._is(0.4):
            requests["memory"] = self._one("100Mi", "512Mi", "2Gi")
        if self._is(0.15):
            requests[GPU] = self._one("1", "2")
            container["resources"]["limits"] = {GPU: requests[GPU]}
        if self._is(0.15):
            container["ports"] = [{"containerPort": 80, "hostPort": self._one(80, 81)}]
        tolerations = [self.toleration() for _ in range(self._one(0, 1, 1, 2, 3))]
        return {"containers": [container], "tolerations": tolerations, "terminationGracePeriodSeconds": 0}

    def _affinity(self) -> Json:
        kinds = (("nodeAffinity", 0.3), ("podAntiAffinity", 0.25), ("podAffinity", 0.2))
        return {kind: self._terms(kind) for kind, share in kinds if self._is(share)}

    def _terms(self, kind: str) -> Json:
        is_required, weight = self._is(0.6), self._one(1, 50, 100)
        if kind == "nodeAffinity":
            required: Any = {"nodeSelectorTerms": [self._node_term() for _ in range(self._one(1, 2))]}
            preferred = {"weight": weight, "preference": self._node_term()}
        else:
            required = [self._pod_term()]
            preferred = {"weight": weight, "podAffinityTerm": self._pod_term()}
        if is_required:
            return {"requiredDuringSchedulingIgnoredDuringExecution": required}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}

    def _node_term(self) -> Json:
        return {"matchExpressions": [self._expression() for _ in range(self._one(1, 1, 2))]}

    def _expression(self) -> Json:
        operator = self._one("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
        made: Json = {"key": self._one("disk", ZONE, "num", HOSTNAME, "nope"), "operator": operator}
        if operator in ("In", "NotIn"):
            made["values"] = self._rng.sample(("ssd", "hdd", "a", "b", "n0", "n1", "5"), self._one(1, 2, 3))
        elif operator in ("Gt", "Lt"):
            made["values"] = [self._one("0", "3", "9")]
        return made

    def _pod_term(self) -> Json:
        selector = {"matchLabels": {"app": self._one(*APPS)}}
        return {"labelSelector": selector, "topologyKey": self._one(HOSTNAME, ZONE, "disk")}

    def _spread(self) -> Json:
        constraint: Json = {
            "maxSkew": self._one(1, 2), "topologyKey": self._one(HOSTNAME, ZONE, "disk"),
            "whenUnsatisfiable": self._one("DoNotSchedule", "ScheduleAnyway"),
            "labelSelector": {"matchLabels": {"app": self._one(*APPS)}},
            "nodeTaintsPolicy": self._one("Honor", "Ignore"), "nodeAffinityPolicy": self._one("Honor", "Ignore"),
        }  # fmt: skip
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self._is(0.2):
            constraint["minDomains"] = self._one(1, 2, 3)
        return constraint
