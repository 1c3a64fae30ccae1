"""Workloads: what a kind of workload should tolerate, and what it should not."""

from collections.abc import Iterator
from typing import Final

from doorman.api.taints import NOT_READY, UNREACHABLE, UNSCHEDULABLE, Taint
from doorman.api.well_known import CONTROL_PLANE_TAINT
from doorman.lint.lint_documents import LintDocument
from doorman.lint.lint_rule import LintRule, Problem
from doorman.lint.pod_templates import REPLICATED
from doorman.lint.surroundings import Surroundings
from doorman.semantics.taints.matching import first_toleration_or_none, is_tolerated, tolerates

CONTROL_PLANE: Final = Taint(key=CONTROL_PLANE_TAINT, effect="NoSchedule")
CORDON: Final = Taint(key=UNSCHEDULABLE, effect="NoSchedule")


def check_for_ever(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or template.kind not in REPLICATED:
        return
    found: dict[int, list[str]] = {}
    for key in (NOT_READY, UNREACHABLE):
        counts = first_toleration_or_none(Taint(key=key, effect="NoExecute"), template.meant)
        if counts is not None and counts.toleration_seconds is None:
            at = next(one.index for one in template.tolerations if one.meant is counts)
            found.setdefault(at, []).append(key.partition("/")[2])
    for one in template.tolerations:
        if states := found.get(one.index):
            yield Problem(
                one.path, f"tolerates {' and '.join(states)} for ever: when its node dies, a pod is never replaced"
            )


def check_control_plane(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or not template.is_daemon or template.chooses_nodes:
        return
    taints = [taint for taint in around.standing_taints if taint.key == CONTROL_PLANE_TAINT]
    wanted = taints if around.nodes else [CONTROL_PLANE]
    missed = next((taint for taint in wanted if not is_tolerated(taint, template.meant)), None)
    if missed is not None:
        where = (*template.path, "tolerations") if template.tolerations else template.path
        yield Problem(where, f"does not tolerate {missed}: it runs on every node but the control plane's")


def check_cordon(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or template.is_daemon:
        return
    for one in template.tolerations:
        if one.meant.key and tolerates(one.meant, CORDON):
            yield Problem(
                one.path, f"tolerates {UNSCHEDULABLE}: it is placed on cordoned nodes, and a drain never ends"
            )


RULES: Final = (
    LintRule(
        id="DM007",
        name="stays-for-ever",
        summary="A replicated workload tolerates not-ready or unreachable for ever.",
        why="Kubernetes gives every pod five minutes on a node that is not ready or unreachable. A toleration without "
        "tolerationSeconds replaces that: the pod stays bound to the dead node, and nothing replaces it.",
        fix="Set tolerationSeconds, or leave the toleration out for the default of 300 seconds.",
        check=check_for_ever,
    ),
    LintRule(
        id="DM012",
        name="misses-control-plane",
        summary="A DaemonSet that does not tolerate the control plane's taint.",
        why="Agents for logs, metrics, storage or networks are meant for every node, and silently miss those of the "
        "control "
        "plane. DaemonSets that select their nodes are not reported, nor are clusters without such a taint.",
        fix=f"Add a toleration with key `{CONTROL_PLANE_TAINT}`, operator Exists and effect NoSchedule; or a "
        f"nodeSelector "
        "that says which nodes are meant.",
        check=check_control_plane,
    ),
    LintRule(
        id="DM015",
        name="tolerates-cordon",
        summary="A workload other than a DaemonSet tolerates cordoned nodes.",
        why="`kubectl drain` cordons a node and evicts its pods. A replacement that tolerates the cordon may be "
        "placed on the "
        "same node again, so the drain does not end and rolling upgrades hang.",
        fix=f"Remove the toleration of `{UNSCHEDULABLE}`.",
        check=check_cordon,
    ),
)  # fmt: skip
