"""Budgets that are asked before a pod goes."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.client.informer_cache import InformerCache
from doorman.controllers.taint_eviction.eviction_budget import BudgetGate
from support.objects import pod


def view(name: str = "p", ready: bool = True, phase: str = "Running", label: str = "x", **metadata: Any) -> Pod:
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
    return msgspec.convert(
        pod(name, "n1", metadata={"uid": name, "labels": {"app": label}, **metadata}, status=status), Pod
    )


def budget(
    allowed: int, version: str = "1", policy: str = "", healthy: tuple[int, int] = (2, 2)
) -> PodDisruptionBudget:
    document = {
        "metadata": {"namespace": "default", "name": "b", "resourceVersion": version},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "unhealthyPodEvictionPolicy": policy},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": healthy[0], "desiredHealthy": healthy[1]},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def gate_with(
    *budgets: PodDisruptionBudget,
) -> tuple[BudgetGate, InformerCache[PodDisruptionBudget], InformerCache[Pod]]:
    cache: InformerCache[PodDisruptionBudget] = InformerCache({"namespace": lambda one: [one.metadata.namespace]})
    pods: InformerCache[Pod] = InformerCache()
    for one in budgets:
        cache.put(one.metadata.key, one)
    return BudgetGate(cache, pods), cache, pods


@pytest.mark.parametrize(
    ("one", "the_budget", "refusing"),
    [
        pytest.param(view(label="y"), budget(0), "", id="1-not-selected"),
        pytest.param(view(phase="Pending"), budget(0), "", id="1-not-started"),
        pytest.param(view(phase="Failed"), budget(0), "", id="1-ended"),
        pytest.param(view(deletionTimestamp="x"), budget(0), "", id="1-going"),
        pytest.param(view(), budget(1), "", id="3-allowed"),
        pytest.param(view(), budget(0), "b", id="3-not-allowed"),
        pytest.param(view(ready=False), budget(0, policy="AlwaysAllow"), "", id="2-unready-always"),
        pytest.param(view(ready=False), budget(0), "", id="2-unready-enough-others"),
        pytest.param(view(ready=False), budget(0, healthy=(1, 2)), "b", id="2-unready-not-enough-others"),
    ],
)
def test_gate(one: Pod, the_budget: PodDisruptionBudget, refusing: str) -> None:
    assert gate_with(the_budget)[0].refusing(one) == refusing


def test_grant_counts_until_the_pod_goes_and_the_budget_was_counted_anew() -> None:
    gate, budgets, pods = gate_with(budget(1))
    first, second = view("first"), view("second")
    pods.put("default/first", first)
    assert gate.refusing(first) == ""
    assert gate.refusing(second) == "b"
    budgets.put("default/b", budget(1, version="2"))
    assert gate.refusing(second) == "b"
    pods.put("default/first", view("first", deletionTimestamp="x"))
    assert gate.refusing(second) == ""
