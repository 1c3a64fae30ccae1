"""Explanations for people."""

import yaml

from doorman.scheduler.explain.explanation_text import explanation_text
from support.scheduling import Desk


def told(desk: Desk, name: str) -> str:
    return explanation_text(desk.scheduler.explain(desk.pods[name], desk.now))


def test_refused_pod_with_taints_and_amounts() -> None:
    desk = Desk()
    desk.node("n1", taints="gpu=true:NoSchedule")
    desk.node("n2", cpu="1")
    desk.pod("p", requests={"cpu": "2"})
    desk.settle()
    assert told(desk, "p") == (
        "pod default/p: fits on no node\n"
        "  0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).\n"
        "2 of 2 nodes refuse it:\n"
        "  1 node: n1\n"
        "    TaintToleration: node(s) had untolerated taint(s): gpu=true:NoSchedule\n"
        "    these tolerations would let it in:\n"
        "      tolerations:\n"
        "      - key: gpu\n"
        "        operator: Equal\n"
        '        value: "true"\n'
        "        effect: NoSchedule\n"
        "  1 node: n2\n"
        "    NodeResourcesFit: Insufficient cpu: cpu: asks 2000m, 0m of 1000m in use\n"
    )


def test_missing_tolerations_are_yaml() -> None:
    desk = Desk()
    desk.node("n1", taints="a=1:NoSchedule b:NoExecute")
    desk.pod("p")
    lines = told(desk, "p").splitlines()
    start = next(at for at, line in enumerate(lines) if line.strip() == "tolerations:")
    pasted = yaml.safe_load("\n".join(line[6:] for line in lines[start:]))
    assert pasted == {
        "tolerations": [
            {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
            {"key": "b", "operator": "Exists", "effect": "NoExecute"},
        ]
    }


def test_thousands_of_nodes_stay_readable() -> None:
    desk = Desk()
    for at in range(1000):
        desk.node(f"n{at}", taints=f"team={at % 25}:NoSchedule" if at % 2 else "")
    desk.pod("p")
    text = told(desk, "p")
    assert len(text.splitlines()) < 120
    assert "500 nodes would take it, best first:" in text
    assert "500 of 1000 nodes refuse it:" in text
    assert "and 490 more" in text
    assert "other combinations of reasons" in text


def test_bound_gated_and_foreign_pods() -> None:
    desk = Desk()
    desk.node("n1", taints="soft:PreferNoSchedule")
    desk.node("n2")
    desk.pod("p")
    desk.settle()
    text = told(desk, "p")
    assert text.startswith("pod default/p: bound to n2\n")
    assert "n2 (it is here)" in text
    assert "n2 beats n1 by TaintToleration +300" in text
    desk.pod("gated", schedulingGates=[{"name": "a"}])
    assert told(desk, "gated").startswith("pod default/gated: not tried yet\n  waiting for scheduling gates: [a]\n")
    desk.pod("theirs", schedulerName="other")
    assert told(desk, "theirs") == "pod default/theirs: left to the scheduler other\n"
