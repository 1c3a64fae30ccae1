"""Devices that drivers publish, classes and claims of them, at random."""

import random
from typing import Any

Json = dict[str, Any]
DRIVER = "gpu.example.com"
CLASSES = ("c0", "c1")
_OF = f'device.attributes["{DRIVER}"]'
SELECTORS = (
    f'device.driver == "{DRIVER}"', f'{_OF}.model == "x"', f"{_OF}.ok", f"{_OF}.idx < 2", f"has({_OF}.model)",
    f'device.capacity["{DRIVER}"].mem.compareTo(quantity("20Gi")) > 0',
    f'{_OF}.ver.isGreaterThan(semver("1.5.0"))', f'"model" in {_OF} && {_OF}.model == "y"',
    "device.allowMultipleAllocations",
)  # fmt: skip


class RandomClaims:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def _is(self, share: float) -> bool:
        return self._rng.random() < share

    def _one(self, *choices: Any) -> Any:
        return self._rng.choice(choices)

    def slices(self, node: str) -> list[Json]:
        """Of one pool: its devices in one or two slices, or beside the counters that they share."""
        shares_counters = self._is(0.25)
        devices = [self._device(number, shares_counters) for number in range(self._one(1, 2, 3, 4))]
        parts: list[Json] = [{"devices": devices}]
        if shares_counters:
            parts.insert(0, {"sharedCounters": [{"name": "cs", "counters": {"m": {"value": "3"}}}]})
        elif len(devices) > 1 and self._is(0.2):
            parts = [{"devices": devices[:1]}, {"devices": devices[1:]}]
        missing = 1 if self._is(0.06) else 0
        pool = {"name": node, "generation": 1, "resourceSliceCount": len(parts) + missing}
        where = self._one(*[{"nodeName": node}] * 8, {"allNodes": True}, {"nodeSelector": _zone_a()})
        return [
            {"metadata": {"name": f"{node}-{number}"}, "spec": {"driver": DRIVER, "pool": pool, **where, **part}}
            for number, part in enumerate(parts)
        ]

    def _device(self, number: int, shares_counters: bool) -> Json:
        attributes: Json = {"idx": {"int": number}, "ok": {"bool": self._is(0.7)}}
        attributes["ver"] = {"version": self._one("1.0.0", "2.1.0")}
        if self._is(0.8):
            attributes["model"] = {"string": self._one("x", "y")}
        device: Json = {
            "name": f"d{number}", "attributes": attributes, "capacity": {"mem": {"value": self._one("10Gi", "40Gi")}},
        }  # fmt: skip
        if self._is(0.3):
            effect = self._one("NoSchedule", "NoExecute", "None")
            device["taints"] = [{"key": self._one("a", "b"), "value": self._one("", "1", "2"), "effect": effect}]
        if shares_counters and self._is(0.7):
            device["consumesCounters"] = [{"counterSet": "cs", "counters": {"m": {"value": self._one("1", "2")}}}]
        if self._is(0.15):
            device["allowMultipleAllocations"] = True
        return device

    def device_class(self, name: str) -> Json:
        expressions = [SELECTORS[0], *([self._one(*SELECTORS[1:8])] if self._is(0.3) else ())]
        return {"metadata": {"name": name}, "spec": {"selectors": _selectors(expressions)}}

    def taint_rule(self) -> Json:
        selector = self._one({"driver": DRIVER}, {"driver": DRIVER, "device": "d0"}, {"pool": "n0"}, {})
        taint = {"key": "a", "value": "1", "effect": "NoSchedule"}
        return {"metadata": {"name": "rule"}, "spec": {"deviceSelector": selector, "taint": taint}}

    def claim(self, name: str) -> Json:
        devices: Json = {"requests": [self._request(f"r{number}") for number in range(self._one(1, 1, 2, 3))]}
        if self._is(0.35):
            kind = self._one("matchAttribute", "matchAttribute", "distinctAttribute")
            attribute = f"{DRIVER}/{self._one('model', 'idx', 'ok', 'ver', 'nope')}"
            devices["constraints"] = [{kind: attribute, **self._one({}, {"requests": ["r0"]})}]
        return {"metadata": {"name": name}, "spec": {"devices": devices}}

    def _request(self, name: str) -> Json:
        if self._is(0.25):
            choices = [{"name": f"s{number}", **self._wanted()} for number in range(self._one(1, 2, 3))]
            return {"name": name, "firstAvailable": choices}
        return {"name": name, "exactly": self._wanted()}

    def _wanted(self) -> Json:
        made: Json = {"deviceClassName": self._one(*CLASSES)}
        if self._is(0.5):
            made["selectors"] = _selectors([self._one(*SELECTORS) for _ in range(self._one(1, 1, 2))])
        if self._is(0.15):
            made["allocationMode"] = "All"
        elif self._is(0.5):
            made["count"] = self._one(1, 1, 2, 3)
        if self._is(0.4):
            made["tolerations"] = [self._toleration() for _ in range(self._one(1, 2))]
        if self._is(0.15):
            made["capacity"] = {"requests": {"mem": self._one("5Gi", "20Gi", "80Gi")}}
        return made

    def _toleration(self) -> Json:
        if self._is(0.5):
            made = {"operator": "Equal", "key": self._one("a", "b"), "value": self._one("1", "2")}
        else:
            made = {"operator": "Exists", "key": self._one("a", "b", "")}
        return {key: value for key, value in made.items() if value} | self._one(
            {}, {"effect": "NoSchedule"}, {"effect": "NoExecute"}
        )


def _selectors(expressions: list[str]) -> list[Json]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def _zone_a() -> Json:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
