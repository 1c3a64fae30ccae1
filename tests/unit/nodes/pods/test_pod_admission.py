"""A kubelet's judgement over pods that arrive."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.nodes.pods.pod_admission import Load, decide_admission
from doorman.semantics.pods.host_ports import HostPort
from doorman.semantics.pods.pod_resources import pod_requests
from support.objects import node, pod

CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "2", "example.com/gpu": "1"}


Document = dict[str, Any]


def authorize(pod_document: Document, node_document: Document, load: Load | None = None) -> tuple[str, str] | None:
    node_document["status"] = {"allocatable": CAPACITY, **node_document.get("status", {})}
    one = msgspec.convert(pod_document, Pod)
    refusal = decide_admission(
        one,
        msgspec.convert(node_document, Node),
        load if load is not None else Load(),
        pod_requests(one.spec),
        best_effort=one.status.qos_class == "BestEffort",
        comparison_operators=True,
    )
    return None if refusal is None else (refusal.reason, refusal.text)


def requesting(**requests: str) -> Document:
    named = {"gpu": "example.com/gpu", "other": "example.com/other"}
    asked = {named.get(key, key): value for key, value in requests.items()}
    return {"containers": [{"name": "c", "resources": {"requests": asked}}]}


TAINT_TEXT = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"


@pytest.mark.parametrize(
    ("taints", "tolerations", "metadata", "refused"),
    [
        pytest.param("", "", {}, False, id="no-taint"),
        pytest.param("a:NoExecute", "", {}, True, id="no-execute"),
        pytest.param("a:NoSchedule b:PreferNoSchedule", "", {}, False, id="only-no-execute-is-looked-at"),
        pytest.param("a:NoExecute", "a:NoExecute@0", {}, False, id="zero-seconds-are-enough"),
        pytest.param("a:NoExecute", "", {"annotations": {"kubernetes.io/config.mirror": "x"}}, False, id="static"),
    ],
)
def test_taints(taints: str, tolerations: str, metadata: dict[str, Any], refused: bool) -> None:
    verdict = authorize(pod("p", "n1", tolerations=tolerations, metadata=metadata), node("n1", taints=taints))
    assert verdict == (("TaintToleration", TAINT_TEXT) if refused else None)


@pytest.mark.parametrize(
    ("spec", "load", "expected"),
    [
        pytest.param(requesting(cpu="4"), Load(), None, id="fits"),
        pytest.param(
            requesting(cpu="4001m"), Load(),
            ("OutOfcpu", "Node didn't have enough resource: cpu, requested: 4001, used: 0, capacity: 4000"), id="cpu",
        ),
        pytest.param(
            requesting(memory="1Gi"), Load(requests={"memory": 8 << 30}),
            ("OutOfmemory",
             "Node didn't have enough resource: memory, requested: 1073741824, used: 8589934592, capacity: 8589934592"),
            id="memory",
        ),
        pytest.param(
            requesting(cpu="1"), Load(pods=2),
            ("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"), id="pods",
        ),
        pytest.param(
            requesting(gpu="2"), Load(),
            ("OutOfexample.com/gpu",
             "Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"),
            id="extended",
        ),
        pytest.param(requesting(other="2"), Load(), None, id="extended-unknown-to-the-node-is-ignored"),
        pytest.param(
            {"containers": [
                {"name": "c", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}}
            ]},
            Load(), None, id="devices-by-the-name-of-their-class",
        ),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"requests": {"hugepages-2Mi": "4Mi"}}}]}, Load(),
            (
                "OutOfhugepages-2Mi",
                "Node didn't have enough resource: hugepages-2Mi, requested: 4194304, used: 0, capacity: 0",
            ),
            id="huge-pages-are-not-extended",
        ),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies"}, {"name": "net/core/somaxconn"}]}},
            Load(), ("SysctlForbidden", 'forbidden sysctl: "net.core.somaxconn" not allowlisted'), id="sysctl",
        ),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "kernel/shm_rmid_forced"}]}}, Load(), None, id="safe-sysctl"
        ),
        pytest.param(
            {"securityContext": {"supplementalGroupsPolicy": "Strict"}}, Load(),
            (
                "SupplementalGroupsPolicyNotSupported",
                "SupplementalGroupsPolicy=Strict is not supported in this node",
            ),
            id="strict-groups",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b"}}, Load(),
            ("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
            id="selector",
        ),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
            Load(ports=frozenset({HostPort("TCP", 80)})),
            ("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"),
            id="port",
        ),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}]}]},
            Load(ports=frozenset({HostPort("TCP", 80, "10.0.0.2")})), None, id="port-on-another-address",
        ),
        pytest.param(
            {"os": {"name": "windows"}}, Load(),
            ("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"), id="os",
        ),
    ],
)  # fmt: skip
def test_general_filter(spec: dict[str, Any], load: Load, expected: tuple[str, str] | None) -> None:
    assert authorize(pod("p", "n1", spec=spec), node("n1", labels={"kubernetes.io/os": "linux"}), load) == expected


def test_node_that_can_be_strict_about_groups_takes_the_pod() -> None:
    able = {**node("n"), "status": {"features": {"supplementalGroupsPolicy": True}}}
    assert authorize(pod("p", "n", spec={"securityContext": {"supplementalGroupsPolicy": "Strict"}}), able) is None


def test_label_of_another_operating_system() -> None:
    verdict = authorize(pod("p", "n1", metadata={"labels": {"kubernetes.io/os": "windows"}}), node("n1"))
    assert verdict is not None
    assert verdict[0] == "PodOSSelectorNodeLabelDoesNotMatch"


def test_resources_are_reported_first_but_last_for_a_critical_pod() -> None:
    spec = requesting(cpu="5")
    first = authorize(pod("p", "n1", spec=spec), node("n1", taints="a:NoExecute"))
    critical = authorize(pod("p", "n1", spec={**spec, "priority": 2_000_000_000}), node("n1", taints="a:NoExecute"))
    assert first is not None
    assert critical is not None
    assert (first[0], critical[0]) == ("OutOfcpu", "TaintToleration")


@pytest.mark.parametrize(
    ("pressure", "qos", "tolerations", "priority", "expected"),
    [
        pytest.param("MemoryPressure", "BestEffort", "", 0, "The node had condition: [MemoryPressure]. ", id="memory"),
        pytest.param("MemoryPressure", "Burstable", "", 0, None, id="memory-burstable"),
        pytest.param(
            "MemoryPressure", "BestEffort", "node.kubernetes.io/memory-pressure:NoSchedule", 0, None, id="tolerates"
        ),
        pytest.param("DiskPressure", "Guaranteed", "", 0, "The node had condition: [DiskPressure]. ", id="disk"),
        pytest.param("DiskPressure", "BestEffort", "", 2_000_000_000, None, id="critical"),
    ],
)
def test_pressure(pressure: str, qos: str, tolerations: str, priority: int, expected: str | None) -> None:
    document = pod("p", "n1", tolerations=tolerations, spec={"priority": priority}, status={"qosClass": qos})
    verdict = authorize(document, node("n1", **{pressure: "True"}))
    assert verdict == (None if expected is None else ("Evicted", expected))
