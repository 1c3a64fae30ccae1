"""The taints and labels that the node lifecycle keeps on a node, as patches.

Rules
-----
1. What is to be added goes in one patch, what is to be removed in a later one: never both, so that at no instant a
   node has fewer taints than before and after.
2. Added taints carry the time; taints of others, and their order, stay as they are.
3. The patch carries the whole list, because it has no merge key, and the resource version, so that a concurrent edit
   is a conflict and not lost.
4. `kubernetes.io/os` and `kubernetes.io/arch`, where set, are repeated under their old names.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from doorman.api.taints import Taint
from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Action, Patch
from doorman.semantics.taints.condition_taints import (
    NOT_READY_NO_EXECUTE,
    UNREACHABLE_NO_EXECUTE,
    desired_no_schedule_taints,
    owned_no_schedule_taints,
)
from doorman.semantics.taints.taint_lists import (
    add_or_update_taint,
    delete_taint,
    diff_taints,
    has_taint,
    is_same_taint,
)

NO_EXECUTE_TAINTS: Final = (NOT_READY_NO_EXECUTE, UNREACHABLE_NO_EXECUTE)
_REPEATED_LABELS: Final = (
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
)


class Intent(msgspec.Struct, frozen=True):
    """Which NoExecute taint the node shall carry: `taint`, or neither."""

    taint: Taint | None


NEITHER: Final = Intent(None)


def decide_taints(node: Node, intent: Intent | None, now: Instant) -> Patch | None:
    """The next patch of the node's taints; None when they are as they should be."""
    to_add, to_remove = diff_taints(desired_no_schedule_taints(node), owned_no_schedule_taints(node))
    if intent is not None:
        if intent.taint is not None and not has_taint(node.spec.taints, intent.taint):
            to_add = (*to_add, intent.taint)
        unwanted = (taint for taint in NO_EXECUTE_TAINTS if taint != intent.taint)
        to_remove = (*to_remove, *(taint for taint in unwanted if has_taint(node.spec.taints, taint)))
    taints: Sequence[Taint] = node.spec.taints
    if to_add:
        for taint in to_add:
            taints, _ = add_or_update_taint(taints, msgspec.structs.replace(taint, time_added=to_time(now)))
    elif to_remove:
        for taint in to_remove:
            taints, _ = delete_taint(taints, taint)
    else:
        return None
    body = {
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": [taint_body(taint) for taint in taints] or None},
    }
    return Patch(resource="nodes", name=node.metadata.name, body=body)


def decide_labels(node: Node) -> Action | None:
    """Rule 4."""
    labels = node.metadata.labels
    missing = {new: labels[old] for old, new in _REPEATED_LABELS if old in labels and labels.get(new) != labels[old]}
    if not missing:
        return None
    return Patch(resource="nodes", name=node.metadata.name, body={"metadata": {"labels": missing}})


def has_no_execute(node: Node) -> bool:
    return any(has_taint(node.spec.taints, taint) for taint in NO_EXECUTE_TAINTS)


def no_execute_since(node: Node) -> Instant:
    """When the node was given such a taint last; 0 when it has none, or none that says when."""
    added = [taint.time_added for taint in node.spec.taints if any(is_same_taint(taint, o) for o in NO_EXECUTE_TAINTS)]
    try:
        return max((from_time(text) for text in added if text), default=0.0)
    except ValueError:
        return 0.0


def taint_body(taint: Taint) -> dict[str, Any]:
    """The taint as JSON, without what is empty."""
    body = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: str(value) for name, value in body.items() if value}
