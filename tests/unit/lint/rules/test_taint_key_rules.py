"""Keys that are misspelt or of another time."""

import pytest

from support.linting import ids, node, workload


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("node.kubernetes.io/not-ready", []),
        ("node.kubernetes.io/notready", ["DM010"]),
        ("node.kubernetes.io/not-raedy", ["DM010"]),
        ("node-role.kubernetes.io/contol-plane", ["DM010"]),
        ("node-role.kubernetes.io/controlplane", []),
        ("nvidia.com/gpus", ["DM010"]),
        ("criticalAddonsOnly", ["DM010"]),
        ("example.com/team", []),
        ("node.kubernetes.io/out-of-disk", ["DM011"]),
        ("node.alpha.kubernetes.io/notReady", ["DM011"]),
        ("node.alpha.kubernetes.io/unreachable", ["DM011"]),
        ("node-role.kubernetes.io/master", ["DM011"]),
    ],
)
def test_key(key: str, found: list[str]) -> None:
    toleration = f"[{{key: {key}, operator: Exists, effect: NoSchedule}}]"
    assert ids(workload(toleration)) == [f"{one}:7" for one in found]
    assert ids(node("n", f"{key}=:NoSchedule")) == [f"{one}:5" for one in found]


def test_key_that_a_node_really_has_is_no_typo() -> None:
    toleration = "[{key: nvidia.com/gpus, operator: Exists, effect: NoSchedule}]"
    nodes = node("n", "nvidia.com/gpus=:NoSchedule")
    assert ids(workload(toleration), around=nodes, select=("DM010",)) == []


def test_old_name_beside_the_new_one_is_for_both_times() -> None:
    roles = ("master", "control-plane")
    both = ", ".join(f"{{key: node-role.kubernetes.io/{role}, operator: Exists}}" for role in roles)
    assert ids(workload(f"[{both}]")) == []


def test_annotations_of_before_1_6() -> None:
    pod = workload(kind="Pod").replace(
        "{name: web}", "{name: web, annotations: {scheduler.alpha.kubernetes.io/tolerations: '[]'}}"
    )
    assert ids(pod) == ["DM011:3"]
    deployment = workload().replace(
        "{labels: ", "{annotations: {scheduler.alpha.kubernetes.io/tolerations: '[]'}, labels: "
    )
    assert ids(deployment) == ["DM011:4"]
