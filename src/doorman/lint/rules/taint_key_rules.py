"""Keys of taints and tolerations: misspelt, or of another time."""

from collections.abc import Iterator
from typing import Final

from doorman.api.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    OUT_OF_DISK,
    OUT_OF_SERVICE,
    PID_PRESSURE,
    UNINITIALIZED,
    UNREACHABLE,
    UNSCHEDULABLE,
)
from doorman.api.well_known import CONTROL_PLANE_TAINT
from doorman.lint.lint_documents import LintDocument, mapping, sequence
from doorman.lint.lint_rule import LintRule, Problem
from doorman.lint.surroundings import Surroundings
from doorman.lint.yaml_positions import YamlPath
from doorman.validation.core.node_taint_rules import TAINTS_ANNOTATION
from doorman.validation.pods.tolerations import TOLERATIONS_ANNOTATION

MASTER: Final = "node-role.kubernetes.io/master"
WELL_KNOWN_KEYS: Final = (
    NOT_READY, UNREACHABLE, UNSCHEDULABLE, MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE, NETWORK_UNAVAILABLE,
    OUT_OF_SERVICE, UNINITIALIZED, CONTROL_PLANE_TAINT, MASTER, "node-role.kubernetes.io/controlplane",
    "node-role.kubernetes.io/etcd", "node-role.kubernetes.io/infra", "nvidia.com/gpu", "amd.com/gpu",
    "CriticalAddonsOnly", "cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible",
    "kubernetes.azure.com/scalesetpriority", "eks.amazonaws.com/compute-type", "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted", "sandbox.gke.io/runtime", "kubernetes.io/arch", "virtual-kubelet.io/provider",
)  # fmt: skip
"""Keys that Kubernetes and its common surroundings use."""

LEGACY_KEYS: Final = {
    OUT_OF_DISK: "no kubelet has reported it since 1.13; disk-pressure says it now",
    "node.alpha.kubernetes.io/notReady": f"of before 1.13: {NOT_READY} is its name",
    "node.alpha.kubernetes.io/unreachable": f"of before 1.13: {UNREACHABLE} is its name",
    "node.alpha.kubernetes.io/ismaster": f"of before 1.6: {CONTROL_PLANE_TAINT} is its name",
    MASTER: f"gone since 1.25: {CONTROL_PLANE_TAINT} is its name",
}
LEGACY_ANNOTATIONS: Final = {
    TOLERATIONS_ANNOTATION: "nothing has read it since 1.6: write spec.tolerations",
    TAINTS_ANNOTATION: "nothing has read it since 1.6: write spec.taints",
}


def check_typo(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    for path, key in _keys(document, around):
        near = typo_of(key)
        if near is not None and (document.kind == "Node" or key not in around.keys_on_nodes):
            yield Problem(path, f"{key} is one typo away from {near}")


def typo_of(key: str) -> str | None:
    """The well-known key that was probably meant.

    >>> typo_of("node.kubernetes.io/notready"), typo_of("node.kubernetes.io/not-ready"), typo_of("example.com/gpu")
    ('node.kubernetes.io/not-ready', None, None)
    """
    if not key or key in WELL_KNOWN_KEYS or key in LEGACY_KEYS:
        return None
    return next((known for known in WELL_KNOWN_KEYS if is_one_typo_away(key, known)), None)


def is_one_typo_away(one: str, other: str) -> bool:
    """One letter more, less or different, or two neighbours exchanged; small and capital letters do not count.

    >>> [is_one_typo_away("ready", other) for other in ("ready", "redy", "raedy", "READY", "reaady", "steady")]
    [False, True, True, True, True, False]
    """
    if one == other:
        return False
    one, other = sorted((one.lower(), other.lower()), key=len)
    if one == other:
        return True
    if len(other) - len(one) > 1:
        return False
    start = next((at for at in range(len(one)) if one[at] != other[at]), len(one))
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    exchanged = one[start : start + 2] == other[start : start + 2][::-1] and one[start + 2 :] == other[start + 2 :]
    return exchanged or one[start + 1 :] == other[start + 1 :]


def check_legacy(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    keys = dict(_keys(document, around))
    for path, key in keys.items():
        if key in LEGACY_KEYS and not (key == MASTER and _is_kept(document, around, set(keys.values()))):
            yield Problem(path, f"{key}: {LEGACY_KEYS[key]}")
    yield from _legacy_annotations(document, around)


def _is_kept(document: LintDocument, around: Surroundings, keys: set[str]) -> bool:
    """The old name beside the new one is for clusters of both times; and some clusters still use it."""
    return document.kind != "Node" and (CONTROL_PLANE_TAINT in keys or MASTER in around.keys_on_nodes)


def _legacy_annotations(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    places: list[tuple[YamlPath, object]] = [(("metadata", "annotations"), document.metadata.get("annotations"))]
    template = around.template(document)
    if template is not None and document.kind != "Pod":
        places.append(((*template.path[:-1], "metadata", "annotations"), template.annotations))
    for path, annotations in places:
        for name, told in LEGACY_ANNOTATIONS.items():
            if name in mapping(annotations):
                yield Problem((*path, name), f"{name}: {told}")


def _keys(document: LintDocument, around: Surroundings) -> Iterator[tuple[YamlPath, str]]:
    """Of tolerations, or of a node's taints."""
    if document.kind == "Node":
        for at, taint in enumerate(sequence(mapping(document.value.get("spec")).get("taints"))):
            yield ("spec", "taints", at, "key"), str(mapping(taint).get("key") or "")
    template = around.template(document)
    for toleration in template.tolerations if template is not None else ():
        yield (*toleration.path, "key"), toleration.meant.key


RULES: Final = (
    LintRule(
        id="DM010",
        name="misspelt-key",
        summary="A key one typo away from a well-known one.",
        why="Keys are plain texts: a toleration of `node.kubernetes.io/notready` is accepted and matches nothing. "
        "Keys that a "
        "node of the cluster really has are not reported.",
        fix="Write the key that the message names.",
        check=check_typo,
    ),
    LintRule(
        id="DM011",
        name="legacy-key",
        summary="A key or an annotation that nothing uses any more.",
        why="Alpha names, `out-of-disk` and `node-role.kubernetes.io/master` are no longer put on nodes, so "
        "tolerating them does "
        "nothing; pods that relied on it stay off the control plane since 1.24. The old name beside the new one is "
        "not reported.",
        fix="Use the name that the message gives.",
        check=check_legacy,
    ),
)  # fmt: skip
