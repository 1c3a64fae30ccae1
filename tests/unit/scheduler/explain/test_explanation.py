"""What people are told who may read a pod but not nodes."""

from doorman.scheduler.explain.explanation import Explanation, Group, NodeVerdict, Objection, PluginScore, without_names

OBJECTION = Objection(
    plugin="TaintToleration", reason="node(s) had untolerated taint(s)", what="gpu=true:NoSchedule", topic="gpu",
    remedy={"tolerations": [{"key": "gpu"}]}, shortfall=3, preemptible=True,
)  # fmt: skip
SCORE = PluginScore(plugin="ImageLocality", raw=1, score=2, weight=3)
WHOLE = Explanation(
    pod="default/p",
    profile="default-scheduler",
    state="Unschedulable",
    message="0/1 nodes are available",
    nodes=(NodeVerdict(node="secret-node", fits=False, objections=(OBJECTION,)),),
    best="secret-node",
    runner_up="other-node",
    lead=(SCORE,),
    groups=(Group(count=4, nodes=("secret-node",), objections=(OBJECTION,), tolerations=({"key": "gpu"},)),),
)


def test_reasons_and_counts_stay_and_names_go() -> None:
    found = without_names(WHOLE)
    assert (found.state, found.message) == (WHOLE.state, WHOLE.message)
    (group,) = found.groups
    assert group.count == 4
    assert group.objections == (
        Objection(plugin="TaintToleration", reason="node(s) had untolerated taint(s)", preemptible=True),
    )
    for word in ("secret-node", "other-node", "gpu=true", "ImageLocality"):
        assert word in str(WHOLE)
        assert word not in str(found)
