"""Why a pod's volumes keep it from a node, by name: for people, not for decisions."""

from doorman.api.views.nodes import Node
from doorman.api.views.pods import NodeSelectorTerm
from doorman.api.views.storage.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from doorman.api.volume_annotations import NO_PROVISIONER, SELECTED_NODE
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.volume_matching import class_of_claim, is_reachable, topology_matches


def volume_objections(claims: PodVolumeClaims, node: Node, state: VolumeState) -> list[str]:
    """One line for each claim that stands in the way."""
    lines = [_bound_objection(claim, node, state) for claim in claims.bound]
    lines += [_delayed_objection(claim, node, state) for claim in claims.delayed]
    return [line for line in lines if line]


def _bound_objection(claim: PersistentVolumeClaim, node: Node, state: VolumeState) -> str:
    name = claim.spec.volume_name
    volume = state.volume(name)
    if volume is None:
        return f"claim {claim.metadata.name} is bound to volume {name}, which does not exist"
    if is_reachable(volume, node):
        return ""
    return f"claim {claim.metadata.name} is bound to volume {name}, which is for nodes with {where(volume)}"


def _delayed_objection(claim: PersistentVolumeClaim, node: Node, state: VolumeState) -> str:
    who = f"claim {claim.metadata.name}"
    selected = claim.metadata.annotations.get(SELECTED_NODE)
    if selected is not None and selected != node.metadata.name:
        return f"{who}: a volume is being made for node {selected}"
    storage_class = state.classes.get(class_of_claim(claim))
    if storage_class is None:
        return ""
    name = storage_class.metadata.name
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return f"{who}: no free volume of class {name} fits, and the class makes none"
    if not topology_matches(storage_class.allowed_topologies, node.metadata.labels):
        return f"{who}: class {name} makes no volumes for this node"
    return ""


def where(volume: PersistentVolume) -> str:
    """The nodes that a volume can be used from, in words."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return "any labels"
    return " or ".join(_term(term) for term in affinity.required.node_selector_terms)


def _term(term: NodeSelectorTerm) -> str:
    return " and ".join(
        f"{each.key} {each.operator} {','.join(each.values)}".strip()
        for each in (*term.match_expressions, *term.match_fields)
    )
