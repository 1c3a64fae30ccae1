"""Node by node: who stays, who goes, who comes."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import DaemonSet
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.controllers.daemonset.daemon_nodes import Placements
from doorman.controllers.daemonset.daemon_rollout import (
    FailedPods,
    TemplateIdentity,
    allowances,
    decide_keeping,
    decide_replacing,
    decide_status,
    group_by_node,
)
from support.objects import node, pod

NEW = TemplateIdentity(hash="new")


def daemon_set(max_unavailable: int | str = 1, max_surge: int | str = 0, **more: Any) -> DaemonSet:
    rolling = {"maxUnavailable": max_unavailable, "maxSurge": max_surge}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return msgspec.convert({"metadata": {"uid": "u"}, "spec": {"updateStrategy": strategy, **more}}, DaemonSet)


def daemon(name: str, on: str, version: str = "new", ready: bool = True, phase: str = "Running", **meta: Any) -> Pod:
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    document = pod(
        name,
        on,
        metadata={"labels": {"controller-revision-hash": version}, "uid": name, **meta},
        status={"phase": phase, "conditions": conditions},
    )
    return msgspec.convert(document, Pod)


def nodes(*names: str, tainted: str = "") -> list[Node]:
    return [msgspec.convert(node(name, taints="x:NoExecute" if name == tainted else ""), Node) for name in names]


def keep(pods: list[Pod], *names: str, of: DaemonSet | None = None, tainted: str = "", coming: str = "") -> Any:
    the_set = of or daemon_set()
    placements = Placements(the_set, comparison_operators=True)
    on = frozenset([coming]) if coming else frozenset[str]()
    plan = decide_keeping(
        the_set, nodes(*names, tainted=tainted), group_by_node(pods), on, placements, NEW, FailedPods(), 0.0
    )
    return plan.create, [one.metadata.name for one in plan.delete]


@pytest.mark.parametrize(
    ("pods", "options", "expected"),
    [
        pytest.param([], {}, (["n1"], []), id="1-none-there"),
        pytest.param([], {"coming": "n1"}, ([], []), id="1-one-is-coming"),
        pytest.param([daemon("a", "n1")], {}, ([], []), id="1-one-there"),
        pytest.param([daemon("a", "n1", deletionTimestamp="x")], {}, ([], []), id="1-ending-counts"),
        pytest.param(
            [daemon("a", "n1", phase="Failed", deletionTimestamp="x")], {}, (["n1"], []), id="1-over-does-not"
        ),
        pytest.param([daemon("a", "n1", phase="Failed")], {}, ([], ["a"]), id="2-failed"),
        pytest.param([daemon("a", "n1", phase="Succeeded")], {}, ([], ["a"]), id="2-succeeded"),
        pytest.param([daemon("b", "n1"), daemon("a", "n1")], {}, ([], ["b"]), id="2-first-stays"),
        pytest.param([daemon("a", "n1")], {"tainted": "n1"}, ([], ["a"]), id="3-may-not-stay"),
        pytest.param(
            [daemon("a", "n1", "old"), daemon("b", "n1")],
            {"of": daemon_set(0, 1)},
            ([], ["a"]),
            id="2-surge-new-available",
        ),
        pytest.param(
            [daemon("a", "n1", "old"), daemon("b", "n1", ready=False)],
            {"of": daemon_set(0, 1)},
            ([], []),
            id="2-surge-new-not-yet",
        ),
        pytest.param(
            [daemon("a", "n1", "old", ready=False), daemon("b", "n1", ready=False)],
            {"of": daemon_set(0, 1)},
            ([], ["a"]),
            id="2-surge-old-not-ready",
        ),
    ],
)
def test_keeping(pods: list[Pod], options: dict[str, Any], expected: tuple[list[str], list[str]]) -> None:
    assert keep(pods, "n1", **options) == expected


def replace(the_set: DaemonSet, pods: list[Pod], *names: str) -> tuple[list[str], list[str]]:
    placements = Placements(the_set, comparison_operators=True)
    plan = decide_replacing(the_set, nodes(*names), group_by_node(pods), frozenset(), placements, NEW, 0.0)
    return plan.create, [one.metadata.name for one in plan.delete]


def old(*names: str, ready: bool = True) -> list[Pod]:
    return [daemon(f"p-{name}", name, "old", ready) for name in names]


@pytest.mark.parametrize(
    ("the_set", "pods", "expected"),
    [
        pytest.param(daemon_set(1), old("a", "b", "c"), ([], ["p-a"]), id="4-one-at-a-time"),
        pytest.param(daemon_set(2), old("a", "b", "c"), ([], ["p-a", "p-b"]), id="4-two-at-a-time"),
        pytest.param(daemon_set("50%"), old("a", "b", "c"), ([], ["p-a", "p-b"]), id="6-rounded-up"),
        pytest.param(daemon_set(1), old("b", "c"), ([], []), id="4-node-without-a-pod-counts"),
        pytest.param(
            daemon_set(1), [*old("b", "c"), daemon("n", "a", ready=False)], ([], []), id="4-new-not-available"
        ),
        pytest.param(daemon_set(1), [*old("b", "c"), daemon("n", "a")], ([], ["p-b"]), id="4-new-available"),
        pytest.param(
            daemon_set(1), old("a", "b", "c", ready=False), ([], ["p-a", "p-b", "p-c"]), id="4-not-available-go"
        ),
        pytest.param(daemon_set(0, 0), old("a", "b", "c"), ([], ["p-a"]), id="6-both-zero"),
        pytest.param(daemon_set(0, 1), old("a", "b", "c"), (["a"], []), id="5-surge-one"),
        pytest.param(daemon_set(0, 2), old("a", "b", "c"), (["a", "b"], []), id="5-surge-two"),
        pytest.param(
            daemon_set(0, 1), [*old("a", "b", "c"), daemon("n", "a", ready=False)], ([], []), id="5-one-is-surging"
        ),
        pytest.param(
            daemon_set(0, 1),
            [*old("a", "b", "c"), daemon("n", "a")],
            (["b"], ["p-a"]),
            id="5-old-goes-when-new-is-there",
        ),
        pytest.param(
            daemon_set(0, 1), old("a", "b", "c", ready=False), (["a", "b", "c"], []), id="5-beside-unavailable-freely"
        ),
        pytest.param(
            daemon_set(0, 1),
            [daemon("na", "a"), daemon("nb", "b"), daemon("nc", "c"), *old("z")],
            ([], ["p-z"]),
            id="5-where-none-belongs-when-enough-others-are-available",
        ),
        pytest.param(
            daemon_set(0, 1),
            [daemon("na", "a"), daemon("nb", "b"), daemon("nc", "c", ready=False), *old("z")],
            ([], []),
            id="5-where-none-belongs-not-before-that",
        ),
        pytest.param(
            daemon_set(0, 1),
            [daemon("na", "a"), daemon("nb", "b"), daemon("nc", "c", ready=False), *old("z", ready=False)],
            ([], ["p-z"]),
            id="5-where-none-belongs-at-once-if-not-available",
        ),
        pytest.param(
            daemon_set(0, 1),
            [*old("a", "z"), daemon("nz", "z", ready=False)],
            ([], []),
            id="5-where-none-belongs-a-new-one-surges-too",
        ),
        pytest.param(
            daemon_set(0, 1),
            [*old("z"), daemon("nz", "z")],
            ([], ["p-z"]),
            id="5-where-none-belongs-the-old-one-goes-when-the-new-one-is-there",
        ),
        pytest.param(
            daemon_set(1),
            [daemon("na", "a"), daemon("nb", "b"), daemon("nc", "c"), *old("z")],
            ([], ["p-z"]),
            id="4-where-none-belongs",
        ),
    ],
)
def test_replacing(the_set: DaemonSet, pods: list[Pod], expected: tuple[list[str], list[str]]) -> None:
    assert replace(the_set, pods, "a", "b", "c") == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"controller-revision-hash": "new"}, True, id="hash"),
        pytest.param({"controller-revision-hash": "old", "pod-template-generation": "3"}, True, id="generation"),
        pytest.param({"controller-revision-hash": "old", "pod-template-generation": "2"}, False, id="neither"),
        pytest.param({}, False, id="no-labels"),
    ],
)
def test_pod_is_new_by_its_hash_or_its_generation(labels: dict[str, str], expected: bool) -> None:
    one = msgspec.convert(pod("p", metadata={"labels": labels}), Pod)
    assert TemplateIdentity(hash="new", generation="3").is_new(one) is expected


@pytest.mark.parametrize(
    ("the_set", "desired", "expected"),
    [
        (daemon_set(1, 0), 10, (1, 0)),
        (daemon_set("25%", "25%"), 10, (3, 3)),
        (daemon_set(0, 0), 10, (1, 0)),
        (daemon_set(0, 0), 0, (0, 0)),
        (DaemonSet(), 5, (1, 0)),
    ],
)
def test_allowances(the_set: DaemonSet, desired: int, expected: tuple[int, int]) -> None:
    assert allowances(the_set, desired) == expected


def test_pauses_of_failing_pods_double_and_are_forgotten() -> None:
    failed = FailedPods()
    key = ("u", 1, "n1")
    assert failed.wait_until(key, 0.0) is None
    assert failed.wait_until(key, 0.5) == 1.0
    assert failed.wait_until(key, 1.0) is None
    assert failed.wait_until(key, 2.9) == 3.0
    assert failed.wait_until(key, 5000.0) is None
    assert failed.wait_until(key, 5000.5) == 5001.0
    failed.forget("u")
    assert failed._entries == {}


def test_status_counts_the_first_pod_of_each_node() -> None:
    pods = [daemon("a", "n1"), daemon("b", "n2", "old", ready=False), daemon("c", "n3")]
    the_set = daemon_set()
    placements = Placements(the_set, comparison_operators=True)
    status = decide_status(
        the_set, nodes("n1", "n2", "n3", "n4", tainted="n3"), group_by_node(pods), placements, NEW, 0.0
    )
    assert msgspec.to_builtins(status) == {
        "currentNumberScheduled": 2,
        "numberMisscheduled": 1,
        "desiredNumberScheduled": 3,
        "numberReady": 1,
        "observedGeneration": 0,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
        "numberUnavailable": 2,
        "collisionCount": 0,
    }
