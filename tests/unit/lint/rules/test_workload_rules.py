"""Rules about kinds of workloads."""

import pytest

from support.linting import ids, node, workload

FOR_EVER = "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}"
FOR_A_WHILE = "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}"
CONTROL_PLANE = "{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}"
CORDON = "{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}"


@pytest.mark.parametrize(
    ("kind", "tolerations", "more", "found"),
    [
        pytest.param("Deployment", f"[{FOR_EVER}]", "{}", ["DM007"], id="for-ever"),
        pytest.param("StatefulSet", f"[{FOR_EVER}]", "{}", ["DM007"], id="stateful-set"),
        pytest.param("Deployment", f"[{FOR_A_WHILE}]", "{}", [], id="for-a-while"),
        pytest.param("Deployment", f"[{FOR_A_WHILE}, {FOR_EVER}]", "{}", ["DM003"], id="first-counts"),
        pytest.param("Pod", f"[{FOR_EVER}]", "{}", [], id="nothing-replaces-a-pod-anyway"),
        pytest.param("DaemonSet", f"[{FOR_EVER}, {CONTROL_PLANE}]", "{}", [], id="daemon-set"),
        pytest.param("DaemonSet", f"[{CONTROL_PLANE}]", "{}", [], id="control-plane"),
        pytest.param("DaemonSet", "[{key: other, operator: Exists}]", "{}", ["DM012"], id="misses-control-plane"),
        pytest.param("DaemonSet", "[]", "{nodeSelector: {a: b}}", [], id="selects-its-nodes"),
        pytest.param("Deployment", f"[{CORDON}]", "{}", ["DM015"], id="cordon"),
        pytest.param("DaemonSet", f"[{CORDON}, {CONTROL_PLANE}]", "{}", [], id="daemon-set-on-cordoned-nodes"),
    ],
)
def test_workload(kind: str, tolerations: str, more: str, found: list[str]) -> None:
    assert [one.partition(":")[0] for one in ids(workload(tolerations, kind=kind, more=more))] == found


def test_cluster_without_a_tainted_control_plane_misses_nothing() -> None:
    daemon = workload(kind="DaemonSet")
    assert ids(daemon, around=node("n"), select=("DM012",)) == []
    tainted = node("n") + node("cp", "node-role.kubernetes.io/control-plane=:NoSchedule")
    assert ids(daemon, around=tainted, select=("DM012",)) != []
