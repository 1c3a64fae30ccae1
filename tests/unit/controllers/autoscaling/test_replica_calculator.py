"""Replicas that metrics ask for."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.pods import Pod
from doorman.controllers.autoscaling.replica_calculator import (
    NO_METRICS,
    NO_PODS,
    PodMetric,
    Proposal,
    Tolerances,
    group_pods,
    propose_by_utilization,
    propose_by_value,
    requests_of,
)

NOW = 10_000.0
READY_LONG_AGO = "1970-01-01T00:10:00Z"


def pod(
    name: str,
    *,
    phase: str = "Running",
    ready: str = "True",
    since: str = READY_LONG_AGO,
    started: str = "1970-01-01T00:10:00Z",
    request: str | None = "1",
    deleted: bool = False,
    **spec: Any,
) -> Pod:
    resources = {"requests": {"cpu": request, "memory": "1Gi"}} if request is not None else {}
    document = {
        "metadata": {"name": name, **({"deletionTimestamp": READY_LONG_AGO} if deleted else {})},
        "spec": {"containers": [{"name": "c", "resources": resources}], **spec},
        "status": {
            "phase": phase,
            "startTime": started,
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": since}],
        },
    }
    return to_view(document, Pod)


def pods(count: int, **more: Any) -> list[Pod]:
    return [pod(f"p{number}", **more) for number in range(count)]


def used(*values: int | None) -> dict[str, PodMetric]:
    """By pod p0, p1 …; None: no figures."""
    return {
        f"p{number}": PodMetric(value=value, at=NOW, window_seconds=15.0)
        for number, value in enumerate(values)
        if value is not None
    }


def by_utilization(some: list[Pod], metrics: dict[str, PodMetric], target: int, **more: Any) -> Proposal | str:
    options: dict[str, Any] = {"resource": "cpu", "container": "", "current": len(some), "tolerances": Tolerances()}
    return propose_by_utilization(some, metrics, target_percent=target, now=NOW, **{**options, **more})


@pytest.mark.parametrize(
    ("values", "target", "replicas", "utilization"),
    [
        pytest.param((300, 500, 700), 30, 5, 50, id="rule-3-more"),
        pytest.param((100, 300, 500), 50, 2, 30, id="rule-3-less"),
        pytest.param((1010, 1030, 1020), 100, 3, 102, id="rule-3-within-the-tolerance"),
        pytest.param((1100,), 100, 1, 110, id="rule-3-at-the-edge-of-the-tolerance"),
        pytest.param((1110,), 100, 2, 111, id="rule-3-beyond-the-tolerance"),
        pytest.param((999, 999), 50, 4, 99, id="rule-2-whole-percent"),
        pytest.param((0, 0), 50, 0, 0, id="rule-3-nothing-used"),
        pytest.param((400, 95, None), 100, 2, 24, id="rule-4-missing-use-all-when-less-is-wanted"),
        pytest.param((1000, 1900, 2500, None), 110, 5, 180, id="rule-4-missing-use-nothing-when-more-is-wanted"),
        pytest.param((1000, None, None, None), 80, 4, 100, id="rule-5-other-side-of-one-with-missing"),
        pytest.param((1000, None), 25, 4, 100, id="rule-4-missing-and-still-more"),
    ],
)
def test_utilization(values: tuple[int | None, ...], target: int, replicas: int, utilization: int) -> None:
    found = by_utilization(pods(len(values)), used(*values), target)
    assert isinstance(found, Proposal)
    assert (found.replicas, found.utilization) == (replicas, utilization)


def test_missing_pods_use_the_target_where_that_is_more_than_all() -> None:
    found = by_utilization(pods(2), used(1000, None), 300)
    assert isinstance(found, Proposal)
    assert found.replicas == 2  # (1000 + 3000) / 2000 = 200 %, of 300 %, of two: rounded up


@pytest.mark.parametrize(
    ("unready_count", "values", "target", "replicas"),
    [
        pytest.param(1, (300, 500, 700), 30, 4, id="rule-4-unready-use-nothing-when-more-is-wanted"),
        pytest.param(2, (None, 400, 600), 50, 3, id="rule-5-other-side-of-one"),
        pytest.param(1, (None, 100, 100), 50, 1, id="rule-1-unready-do-not-count-when-less-is-wanted"),
    ],
)
def test_unready_pods(unready_count: int, values: tuple[int | None, ...], target: int, replicas: int) -> None:
    some = pods(3)
    for number in range(unready_count):
        some[number] = pod(f"p{number}", ready="False", since="1970-01-01T00:10:05Z")
    found = by_utilization(some, used(*(value or 0 for value in values)), target)
    assert isinstance(found, Proposal)
    assert found.replicas == replicas


@pytest.mark.parametrize(
    ("one", "resource", "group"),
    [
        pytest.param(pod("p0"), "cpu", "ready", id="rule-1-ready"),
        pytest.param(pod("p0", deleted=True), "cpu", "ignored", id="rule-1-deleted"),
        pytest.param(pod("p0", phase="Failed"), "cpu", "ignored", id="rule-1-failed"),
        pytest.param(pod("p0", phase="Pending"), "memory", "unready", id="rule-1-pending"),
        pytest.param(pod("other"), "cpu", "missing", id="rule-1-missing"),
        pytest.param(pod("p0", ready="False"), "memory", "ready", id="rule-1-memory-does-not-ask-for-readiness"),
        pytest.param(pod("p0", started=""), "cpu", "unready", id="rule-1-not-started"),
        pytest.param(
            pod("p0", started="1970-01-01T02:46:00Z", since="1970-01-01T02:46:35Z"), "cpu", "unready",
            id="rule-1-figures-reach-back-before-it-was-ready",
        ),
        pytest.param(
            pod("p0", started="1970-01-01T02:46:00Z", since="1970-01-01T02:46:25Z"), "cpu", "ready",
            id="rule-1-figures-of-a-whole-window",
        ),
        pytest.param(
            pod("p0", started="1970-01-01T02:46:00Z", ready="False"), "cpu", "unready", id="rule-1-not-ready-early",
        ),
        pytest.param(
            pod("p0", ready="False", since="1970-01-01T00:10:31Z"), "cpu", "ready", id="rule-1-was-ready-once",
        ),
        pytest.param(
            pod("p0", ready="False", since="1970-01-01T00:10:29Z"), "cpu", "unready", id="rule-1-never-was-ready",
        ),
    ],
)  # fmt: skip
def test_groups(one: Pod, resource: str, group: str) -> None:
    found = group_pods([one], used(500), resource, NOW)
    names = {"ready": found.ready_count, "unready": found.unready, "missing": found.missing, "ignored": found.ignored}
    assert [name for name, members in names.items() if members] == [group]


@pytest.mark.parametrize(
    ("values", "target", "replicas"),
    [
        pytest.param((300, 500, 700), 250, 6, id="more"),
        pytest.param((300, 500, 700), 520, 3, id="within-the-tolerance"),
        pytest.param((100, 200, 300), 400, 2, id="less"),
        pytest.param((100, 200, None), 400, 2, id="rule-4-missing-use-what-is-wanted"),
        pytest.param((900, 900, None), 400, 5, id="rule-4-missing-use-nothing"),
    ],
)
def test_value(values: tuple[int | None, ...], target: int, replicas: int) -> None:
    some = pods(len(values))
    found = propose_by_value(
        some, used(*values), resource="cpu", current=len(some), target=target, tolerances=Tolerances(), now=NOW
    )
    assert isinstance(found, Proposal)
    assert (found.replicas, found.utilization) == (replicas, None)


def test_tolerances_of_either_direction() -> None:
    wide = Tolerances(down=0.5, up=0.0)
    up = by_utilization(pods(10), used(*[510] * 10), 50, tolerances=wide)
    down = by_utilization(pods(10), used(*[300] * 10), 50, tolerances=wide)
    assert isinstance(up, Proposal)
    assert isinstance(down, Proposal)
    assert (up.replicas, down.replicas) == (11, 10)


@pytest.mark.parametrize(
    ("some", "metrics", "text"),
    [
        pytest.param([], used(1), NO_PODS, id="rule-6-no-pods"),
        pytest.param([pod("p0", phase="Pending")], used(1), NO_METRICS, id="rule-6-no-figures"),
        pytest.param(
            [pod("p0", request=None)], used(1), "missing request for cpu in container c of Pod p0", id="rule-6-request"
        ),
    ],
)
def test_no_answer(some: list[Pod], metrics: dict[str, PodMetric], text: str) -> None:
    assert by_utilization(some, metrics, 50) == text


@pytest.mark.parametrize(
    ("one", "container", "expected"),
    [
        pytest.param(pod("p0"), "", {"p0": 1000}, id="containers"),
        pytest.param(
            pod("p0", initContainers=[
                {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "200m"}}}, {"name": "i"},
            ]), "", {"p0": 1200}, id="sidecars-too",
        ),
        pytest.param(pod("p0"), "x", "container x not found in Pod p0", id="no-such-container"),
        pytest.param(pod("p0"), "c", {"p0": 1000}, id="one-container"),
        pytest.param(
            pod("p0", request=None, resources={"requests": {"cpu": "3"}}), "", {"p0": 3000}, id="of-the-pod",
        ),
        pytest.param(
            pod("p0", request=None, resources={"requests": {"memory": "3Gi"}}), "",
            "missing pod-level request for cpu in Pod p0", id="of-the-pod-but-not-this",
        ),
    ],
)  # fmt: skip
def test_requests(one: Pod, container: str, expected: Any) -> None:
    assert requests_of([one], "cpu", container) == expected
