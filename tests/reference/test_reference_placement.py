"""Random pods on random nodes, with and without devices: Doorman decides as kube-scheduler does, and says the same.

`PLACEMENT_ROUNDS=100 scripts/test-reference FOLDER -k placement` compares more of them, `PLACEMENT_SEED=7` others.
"""

import json
import os
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from reference.random_claims import CLASSES, RandomClaims
from reference.random_pods import PRIORITY_CLASS, RandomPods, ready_status
from reference.two_clusters import CLAIMS, NAMESPACE, PODS, TwoClusters, two_clusters

ROUNDS = int(os.environ.get("PLACEMENT_ROUNDS", "6"))
SEED = os.environ.get("PLACEMENT_SEED", "1")
PODS_A_ROUND, CLAIMS_A_ROUND = 8, 4
RESOURCE = "/apis/resource.k8s.io"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoClusters]:
    with two_clusters(tmp_path_factory.mktemp("two")) as running:
        running.make("/apis/scheduling.k8s.io/v1/priorityclasses", PRIORITY_CLASS)
        yield running


@pytest.mark.parametrize("number", range(ROUNDS))
def test_placement_of_pods(clusters: TwoClusters, number: int) -> None:
    rng = random.Random(f"pods {SEED} {number}")
    made = RandomPods(rng)
    nodes = [f"n{place}" for place in range(rng.choice((2, 3, 5)))]
    clusters.sweep()
    for name in nodes:
        clusters.make_node(made.node(name))
    clusters.wait_for_nodes()
    for place in range(rng.choice((0, 2, 4))):
        clusters.make(PODS, made.bound_pod(f"b{place}", rng.choice(nodes)))
    for place in range(PODS_A_ROUND):
        pod = made.pod(f"p{place}")
        clusters.make(PODS, pod)
        ours, theirs = clusters.outcomes(f"p{place}")
        if ours[0] == theirs[0] == "bound":
            totals = scores(clusters, f"p{place}")
            assert totals[theirs[1]] == totals[ours[1]], (pod, totals)
        else:
            assert ours == theirs, pod
        for one in (0, 1):
            clusters.ask(one, "DELETE", f"{PODS}/p{place}?gracePeriodSeconds=0")


def scores(clusters: TwoClusters, name: str) -> dict[str, Any]:
    """Of every node: of two that are as good, each scheduler takes any."""
    _, found = clusters.ask(0, "GET", f"/apis/doorman.dev/v1/namespaces/{NAMESPACE}/podexplanations/{name}")
    return {node["node"]: node.get("total") for node in found["scheduling"]["nodes"]}


@pytest.mark.parametrize("number", range(ROUNDS))
def test_placement_of_claims(clusters: TwoClusters, number: int) -> None:
    rng = random.Random(f"claims {SEED} {number}")
    made = RandomClaims(rng)
    clusters.sweep()
    for place in range(rng.choice((1, 2, 3))):
        labels = {"kubernetes.io/hostname": f"n{place}", "topology.kubernetes.io/zone": "ab"[place % 2]}
        status = ready_status({"cpu": "4", "memory": "8Gi", "pods": "20"})
        clusters.make_node({"metadata": {"name": f"n{place}", "labels": labels}, "status": status})
        for published in made.slices(f"n{place}"):
            clusters.make(f"{RESOURCE}/v1/resourceslices", published)
    for name in CLASSES:
        clusters.make(f"{RESOURCE}/v1/deviceclasses", made.device_class(name))
    if rng.random() < 0.3:
        clusters.make(f"{RESOURCE}/v1beta2/devicetaintrules", made.taint_rule())
    clusters.wait_for_nodes()
    for place in range(CLAIMS_A_ROUND):
        claim = made.claim(f"claim{place}")
        answers = [clusters.ask(one, "POST", CLAIMS, claim) for one in (0, 1)]
        assert answers[0][0] == answers[1][0], (claim, answers)
        if answers[0][0] != 201:
            assert answers[0][1]["message"] == answers[1][1]["message"], claim
            continue
        clusters.make(PODS, pod_of(f"p{place}", claim))
        ours, theirs = map(without_devices, clusters.outcomes(f"p{place}"))
        assert ours[0] == theirs[0], claim
        if ours[0] != "bound":
            assert ours == theirs, claim
        elif ours[1] == theirs[1]:
            assert allocation(clusters, 0, place) == allocation(clusters, 1, place), claim
        else:
            return  # as good a node, but what is left for the next ones is not the same


def pod_of(name: str, claim: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "devices"}]}}
    claims = [{"name": "devices", "resourceClaimName": claim["metadata"]["name"]}]
    spec = {"containers": [container], "resourceClaims": claims, "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": name}, "spec": spec}


def without_devices(outcome: tuple[str, str]) -> tuple[str, str]:
    """kube-scheduler looks at nodes side by side: which device an error is about is anybody's."""
    return outcome[0], re.sub(r"example\.com/n\d/d\d", "DEVICE", outcome[1])


def allocation(clusters: TwoClusters, number: int, place: int) -> str:
    _, claim = clusters.ask(number, "GET", f"{CLAIMS}/claim{place}")
    found = {key: value for key, value in claim["status"]["allocation"].items() if key != "allocationTimestamp"}
    return re.sub(r'"shareID": "[^"]*"', "", json.dumps(found, sort_keys=True))
