"""How long the shop is short of pods when a node or a zone goes, at the manifests' real figures, in milliseconds."""

from pathlib import Path

import pytest

from doorman.testing import ApiError, Cluster

WEB = Path(__file__).parents[1] / "manifests" / "web.yaml"


def ready(cluster: Cluster) -> int:
    return cluster.get("deployment", "web")["status"].get("readyReplicas", 0)


def test_maintenance_moves_the_pods_elsewhere(doorman: Cluster) -> None:
    doorman.apply(WEB)
    doorman.run_until("deployment/web", "condition=Available")
    assert doorman.pods(node="node-1")

    doorman.taint("node-1", "maintenance=disks:NoExecute")
    doorman.run_until(lambda: ready(doorman) == 4, timeout="1m")

    assert not doorman.pods(node="node-1")


@pytest.mark.doorman(nodes=12, zones=["a", "b", "c"])
def test_pods_of_a_lost_node_are_replaced_within_two_minutes(doorman: Cluster) -> None:
    doorman.apply(WEB)
    doorman.run_until(lambda: ready(doorman) == 4)
    lost = doorman.pods(selector="app=web")[0]["spec"]["nodeName"]

    doorman.fail(lost)
    doorman.run_until(lambda: ready(doorman) < 4)  # 50 s of silence: kube-controller-manager's grace period
    down = doorman.elapsed
    doorman.run_until(lambda: ready(doorman) == 4)

    assert doorman.elapsed - down <= 60
    assert doorman.events(reason="TaintManagerEviction")


def test_the_budget_refuses_a_second_eviction(doorman: Cluster) -> None:
    doorman.apply(WEB)
    doorman.run_until("poddisruptionbudget/web", "jsonpath={.status.disruptionsAllowed}=1")
    doorman.fail("node-3")
    doorman.run_until("pdb/web", "jsonpath={.status.disruptionsAllowed}=0", timeout="5m")

    pod = doorman.pods(node="node-1")[0]["metadata"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod["name"]}}
    with pytest.raises(ApiError) as refused:
        doorman.request("POST", f"/api/v1/namespaces/default/pods/{pod['name']}/eviction", eviction)

    assert refused.value.code == 429
    assert refused.value.reason == "TooManyRequests"
