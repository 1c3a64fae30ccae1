"""What a pod asks of a node: one row a rule."""

from typing import Any

import msgspec
import pytest

from doorman.api.pods import PodSpec
from doorman.scheduler.requests import AMOUNT_MAX, HostPort, host_ports, pod_requests, scoring_requests


def container(cpu: str = "", memory: str = "", *, restart: str = "") -> dict[str, Any]:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    return {"resources": {"requests": requests}, "restartPolicy": restart}


def spec(containers: list[dict[str, Any]], init: list[dict[str, Any]] = [], **more: Any) -> PodSpec:  # noqa: B006
    return msgspec.convert({"containers": containers, "initContainers": init, **more}, PodSpec)


SIDECAR = container("100m", restart="Always")


@pytest.mark.parametrize(
    ("pod", "cpu"),
    [
        pytest.param(spec([container("1"), container("500m")]), 1500, id="rule-1-sum"),
        pytest.param(spec([container("1")], [SIDECAR, SIDECAR]), 1200, id="rule-1-sidecars-run-along"),
        pytest.param(spec([container("1")], [container("3")]), 3000, id="rule-2-init-is-greater"),
        pytest.param(spec([container("1")], [SIDECAR, container("3")]), 3100, id="rule-2-beside-earlier-sidecars"),
        pytest.param(spec([container("1")], [container("3"), SIDECAR]), 3000, id="rule-2-not-beside-later-sidecars"),
        pytest.param(spec([container("1")], [container("500m")]), 1000, id="rule-3-greater-of-both"),
        pytest.param(spec([container("1")], resources={"requests": {"cpu": "4"}}), 4000, id="rule-4-pod-level"),
        pytest.param(spec([container("1")], overhead={"cpu": "250m"}), 1250, id="rule-5-overhead"),
        pytest.param(spec([container("100u"), container("100u")]), 1, id="rule-6-rounded-up-once"),
        pytest.param(spec([container("1e18")]), AMOUNT_MAX, id="rule-6-cut"),
    ],
)
def test_cpu_of_a_pod(pod: PodSpec, cpu: int) -> None:
    assert pod_requests(pod)["cpu"] == cpu


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(spec([container()]), (100, 200 * 2**20), id="rule-7-nothing-asked"),
        pytest.param(spec([container("1"), container()]), (1100, 400 * 2**20), id="rule-7-per-container"),
        pytest.param(spec([container("0", "0")]), (0, 0), id="rule-7-zero-is-said"),
        pytest.param(spec([container()], overhead={"cpu": "50m"}), (150, 200 * 2**20), id="rule-7-with-overhead"),
    ],
)
def test_scoring_requests(pod: PodSpec, expected: tuple[int, int]) -> None:
    assert scoring_requests(pod) == expected


def test_other_resources_of_the_pod_as_a_whole_do_not_replace_rule_4() -> None:
    pod = spec([container("1")], resources={"requests": {"example.com/gpu": "4", "hugepages-2Mi": "4Mi"}})
    assert pod_requests(pod) == {"cpu": 1000, "hugepages-2Mi": 4 * 2**20}


def test_host_ports_of_containers_and_sidecars_rule_8() -> None:
    ports = {"ports": [{"hostPort": 80}, {"hostPort": 80}, {"containerPort": 81}]}
    pod = spec([ports], [{"ports": [{"hostPort": 90}]}, {"ports": [{"hostPort": 91}], "restartPolicy": "Always"}])
    assert host_ports(pod) == (HostPort("TCP", 80), HostPort("TCP", 91))
