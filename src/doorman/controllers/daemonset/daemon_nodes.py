"""Which nodes a DaemonSet's pods belong on, and how such a pod is made.

Rules
-----
1. Every daemon pod tolerates the taints of nodes in trouble: not-ready and unreachable (NoExecute, for ever), disk-,
   memory- and PID-pressure and unschedulable (NoSchedule), and with host network network-unavailable (NoSchedule).
   One of the template's own that is the same is replaced in its place.
2. A template with a node name belongs on that node only.
3. Node selector and required affinity must accept the node.
4. A NoSchedule or NoExecute taint that is not tolerated keeps new pods off; one with NoExecute also ends those there.
   Seconds do not matter here, nor does anything else about the node.
5. A daemon pod is pinned to its node by a required affinity of the node's name, in place of the template's own terms.
6. On a node that reports OutOfDisk, as kubelets before 1.13 did, a pod of a system priority class tolerates the taint
   that goes with it (NoSchedule), as in those versions. Later kubelets report no such condition, so nothing is added.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    OUT_OF_DISK,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    Effect,
    Toleration,
    TolerationOperator,
)
from doorman.api.views.apps import DaemonSet, Template, template_spec
from doorman.api.views.nodes import Node
from doorman.api.views.pods import PodSpec
from doorman.api.well_known import TEMPLATE_GENERATION_ANNOTATION
from doorman.base.json_types import Document
from doorman.controllers.pods.controller_revisions import HASH_LABEL
from doorman.controllers.pods.pod_control import pod_body
from doorman.controllers.pods.pod_state import toleration_body
from doorman.semantics.pods.node_selectors import selects_node
from doorman.semantics.taints.condition_taints import LEGACY_CONDITION
from doorman.semantics.taints.matching import EVICTS, NO_ADMITTANCE, first_untolerated_or_none
from doorman.semantics.taints.toleration_lists import add_or_update_toleration

_SYSTEM_CLASSES: Final = ("system-node-critical", "system-cluster-critical")
GENERATION_LABEL: Final = "pod-template-generation"
_ALWAYS: Final = (
    (NOT_READY, Effect.NO_EXECUTE),
    (UNREACHABLE, Effect.NO_EXECUTE),
    (DISK_PRESSURE, Effect.NO_SCHEDULE),
    (MEMORY_PRESSURE, Effect.NO_SCHEDULE),
    (PID_PRESSURE, Effect.NO_SCHEDULE),
    (UNSCHEDULABLE, Effect.NO_SCHEDULE),
)


class Placement(msgspec.Struct, frozen=True):
    """Whether a node should run a pod, and whether one that runs there may go on."""

    should_run: bool
    should_continue: bool


NOWHERE: Final = Placement(False, False)
HERE: Final = Placement(True, True)


def daemon_tolerations(spec: PodSpec, *, reports_out_of_disk: bool = False) -> tuple[Toleration, ...]:
    """Rules 1 and 6."""
    wanted = [*_ALWAYS, (NETWORK_UNAVAILABLE, Effect.NO_SCHEDULE)] if spec.host_network else [*_ALWAYS]
    if reports_out_of_disk and spec.priority_class_name.startswith(_SYSTEM_CLASSES):
        wanted.append((OUT_OF_DISK, Effect.NO_SCHEDULE))
    tolerations: tuple[Toleration, ...] = spec.tolerations
    for key, effect in wanted:
        toleration = Toleration(key=key, operator=TolerationOperator.EXISTS.value, effect=effect.value)
        tolerations, _ = add_or_update_toleration(tolerations, toleration)
    return tolerations


def decide_placement(
    spec: PodSpec, tolerations: tuple[Toleration, ...], node: Node, *, comparison_operators: bool
) -> Placement:
    """Rules 2 to 4."""
    if spec.node_name and spec.node_name != node.metadata.name:
        return NOWHERE
    if not selects_node(spec, node.metadata.labels, node.metadata.name):
        return NOWHERE
    taints = node.spec.taints
    if not taints:
        return HERE
    operators = comparison_operators
    if first_untolerated_or_none(taints, tolerations, effects=NO_ADMITTANCE, comparison_operators=operators) is None:
        return HERE
    ends = first_untolerated_or_none(taints, tolerations, effects=EVICTS, comparison_operators=operators)
    return Placement(False, ends is None)


def daemon_pod(
    daemon_set: DaemonSet,
    node_name: str,
    hash_: str,
    *,
    owner: Mapping[str, Any],  # an owner reference as JSON
    reports_out_of_disk: bool = False,
) -> Document:
    """Rules 1, 5 and 6."""
    template = daemon_set.spec.template
    labels = {HASH_LABEL: hash_}
    generation = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION_ANNOTATION)
    if generation:
        labels[GENERATION_LABEL] = generation
    tolerations = daemon_tolerations(template_spec(template), reports_out_of_disk=reports_out_of_disk)
    spec = {"tolerations": [toleration_body(one) for one in tolerations], "affinity": _pinned(template, node_name)}
    return pod_body(template, owner=owner, generate_name=f"{daemon_set.metadata.name}-", labels=labels, spec=spec)


def reports_out_of_disk(node: Node) -> bool:
    return node.status.condition(LEGACY_CONDITION) is not None


def _pinned(template: Template, node_name: str) -> Document:
    affinity: Document = dict((template.get("spec") or {}).get("affinity") or {})
    node_affinity: Document = dict(affinity.get("nodeAffinity") or {})
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity["nodeAffinity"] = node_affinity
    return affinity


class Placements:
    """Placements of one DaemonSet's template, computed once for each state of a node."""

    def __init__(self, daemon_set: DaemonSet, *, comparison_operators: bool) -> None:
        self.template = daemon_set.spec.template
        self._spec = template_spec(self.template)
        self._tolerations = daemon_tolerations(self._spec)
        self._legacy_tolerations = daemon_tolerations(self._spec, reports_out_of_disk=True)
        self._operators = comparison_operators
        self._known: dict[str, tuple[Node, Placement]] = {}

    def on(self, node: Node) -> Placement:
        name = node.metadata.name
        known = self._known.get(name)
        if known is not None and known[0] is node:
            return known[1]
        if known is not None and _is_alike(known[0], node):
            placement = known[1]
        else:
            tolerations = self._legacy_tolerations if reports_out_of_disk(node) else self._tolerations
            placement = decide_placement(self._spec, tolerations, node, comparison_operators=self._operators)
        self._known[name] = (node, placement)
        return placement

    def forget(self, name: str) -> None:
        self._known.pop(name, None)


def _is_alike(one: Node, other: Node) -> bool:
    is_same = one.spec.taints == other.spec.taints and one.metadata.labels == other.metadata.labels
    return is_same and reports_out_of_disk(one) == reports_out_of_disk(other)
