"""Rules that hold workloads against nodes."""

import pytest

from support.linting import findings, ids, node, workload

PLAIN = node("plain")
GPU = node("gpu-1", "gpu=a100:NoSchedule", labels="{pool: gpu}") + node(
    "gpu-2", "gpu=a100:NoSchedule", labels="{pool: gpu}"
)
LEAVING = node("old", "retire=:NoExecute")


@pytest.mark.parametrize(
    ("rule", "toleration", "more", "nodes", "found"),
    [
        pytest.param("DM001", "{key: gpu, operator: Exists}", "{}", PLAIN + GPU, False, id="matches"),
        pytest.param("DM001", "{key: gpu, value: h100}", "{}", PLAIN + GPU, True, id="another-value"),
        pytest.param("DM001", "{key: gpu, operator: Exists, effect: NoExecute}", "{}", GPU, True, id="another-effect"),
        pytest.param("DM001", "{key: tpu, operator: Exists}", "{}", PLAIN + GPU, True, id="another-key"),
        pytest.param("DM001", "{key: tpu, operator: Exists}", "{}", "", False, id="no-nodes-known"),
        pytest.param(
            "DM001", "{key: node.kubernetes.io/unreachable, operator: Exists}", "{}", PLAIN, False, id="state"
        ),
        pytest.param(
            "DM001", "{key: num, operator: Gt, value: '5'}", "{}", node("n", "num=9:NoSchedule"), False, id="gt"
        ),
        pytest.param(
            "DM001", "{key: num, operator: Gt, value: '9'}", "{}", node("n", "num=9:NoSchedule"), True, id="gt-bound"
        ),
        pytest.param("DM008", "{key: gpu, operator: Exists}", "{}", PLAIN + GPU, True, id="may-go-elsewhere"),
        pytest.param(
            "DM008", "{key: gpu, operator: Exists}", "{nodeSelector: {pool: gpu}}", PLAIN + GPU, False, id="led"
        ),
        pytest.param(
            "DM008", "{key: gpu, operator: Exists}", "{nodeSelector: {pool: x}}", PLAIN + GPU, False, id="nowhere"
        ),
        pytest.param("DM008", "{key: gpu, operator: Exists}", "{}", GPU, False, id="nothing-else-there"),
        pytest.param("DM008", "{key: dedicated, value: db}", "{}", "", True, id="by-its-name"),
        pytest.param("DM008", "{key: spot, operator: Exists}", "{}", "", False, id="not-by-its-name"),
        pytest.param("DM008", "{key: dedicated, value: db}", "{nodeSelector: {a: b}}", "", False, id="selects"),
        pytest.param(
            "DM009", "{key: other, operator: Exists}", "{nodeSelector: {pool: gpu}}", PLAIN + GPU, True, id="barred"
        ),
        pytest.param(
            "DM009", "{key: gpu, operator: Exists}", "{nodeSelector: {pool: gpu}}", PLAIN + GPU, False, id="let-in"
        ),
        pytest.param(
            "DM009", "{key: other, operator: Exists}", "{nodeSelector: {pool: x}}", PLAIN + GPU, False, id="no-node"
        ),
        pytest.param("DM009", "{key: other, operator: Exists}", "{}", GPU, False, id="selects-nothing"),
        pytest.param(
            "DM016",
            "{key: retire, operator: Exists, effect: NoExecute, tolerationSeconds: 10}",
            "{}",
            PLAIN + LEAVING,
            True,
            id="comes-back",
        ),
        pytest.param(
            "DM016", "{key: retire, operator: Exists, effect: NoExecute}", "{}", PLAIN + LEAVING, False, id="stays"
        ),
        pytest.param(
            "DM016",
            "{key: retire, operator: Exists, effect: NoExecute, tolerationSeconds: 10}",
            "{}",
            node("old", "retire=:NoExecute", "also=:NoSchedule"),
            False,
            id="kept-off",
        ),
    ],
)
def test_placement(rule: str, toleration: str, more: str, nodes: str, found: bool) -> None:
    text = workload(f"[{toleration}]", more=more)
    assert bool(ids(text, around=nodes, select=(rule,))) is found


AFFINITY = (
    "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: pool, operator: In, values: [gpu]}]}]}}}}"
)


def test_affinity_counts_as_a_choice() -> None:
    assert ids(workload("[{key: gpu, operator: Exists}]", more=AFFINITY), around=PLAIN + GPU, select=("DM008",)) == []
    assert ids(workload(more=AFFINITY), around=PLAIN + GPU, select=("DM009",)) != []


def test_taint_that_nobody_tolerates_is_told_once_at_its_first_node() -> None:
    nodes = PLAIN + GPU
    (told,) = findings(nodes, around=workload("[{key: other, operator: Exists}]"), select=("DM002",))
    assert told.message == "no workload tolerates gpu=a100:NoSchedule of gpu-1, gpu-2 (1 workload looked at)"
    assert told.object == "Node gpu-1"
    assert ids(nodes, around=workload("[{key: gpu, value: a100}]"), select=("DM002",)) == []
    assert ids(nodes, around=workload("[{operator: Exists}]", kind="DaemonSet"), select=("DM002",)) == []


def test_nearest_taint_is_named() -> None:
    (told,) = findings(workload("[{key: gpu, value: h100}]"), around=GPU, select=("DM001",))
    assert told.message == "gpu=h100 matches no taint of the 2 nodes; there is gpu=a100:NoSchedule, of another value"
