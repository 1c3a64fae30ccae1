"""Whether a kubelet takes a pod that arrived on its node, and what it says when it does not.

Rules, the first that refuses counts
------------------------------------
1. Pressure: under DiskPressure or PIDPressure nobody but critical and static pods; under MemoryPressure alone also
   those with requests or limits, and those that tolerate the memory-pressure taint.
2. Of kernel parameters a pod may set those that concern nobody but itself.
3. The pod's label for the operating system, if any, must be the node's. So must its `spec.os`. It may be strict about
   supplemental groups only if the node can be.
4. The general filter collects: resources (too many pods; then cpu, memory, storage, others, of which extended ones
   and those that stand for devices count only if the node knows them), nodeSelector and required affinity, node name,
   host ports, then NoExecute taints. tolerationSeconds do not matter, NoSchedule taints neither, and static pods are
   spared the taints.
5. The first of these is reported. A critical pod that only lacks resources is not refused yet: others may have to go
   (`doorman.nodes.pods.critical_pod_preemption`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.taints import MEMORY_PRESSURE, Effect, Taint
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.well_known import MIRROR_POD_ANNOTATION, PODS
from doorman.semantics.pods.host_ports import HostPort, do_conflict, host_ports
from doorman.semantics.pods.node_selectors import selects_node
from doorman.semantics.pods.pod_resources import CPU, EPHEMERAL_STORAGE, MEMORY, counted_quantities
from doorman.semantics.pods.resource_names import may_be_devices
from doorman.semantics.taints.matching import EVICTS, first_untolerated_or_none, is_tolerated

NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""In the order in which a kubelet checks them."""
CRITICAL_PRIORITY: Final = 2_000_000_000
OS_LABEL: Final = "kubernetes.io/os"
SAFE_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
MEMORY_PRESSURE_TAINT: Final = Taint(key=MEMORY_PRESSURE, effect=Effect.NO_SCHEDULE)


class PodRejection(msgspec.Struct, frozen=True):
    reason: str
    text: str
    resource: str = ""
    """What lacks, if that is why, and how much of it."""
    missing: int = 0


class Shortfall(msgspec.Struct, frozen=True):
    """All that keeps a critical pod out: the resources that lack."""

    lacking: tuple[PodRejection, ...]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What the node carries already: pods, their requests in sum, their host ports."""

    pods: int = 0
    requests: Mapping[str, int] = {}
    ports: frozenset[HostPort] = frozenset()


def is_critical(pod: Pod) -> bool:
    return pod.spec.priority >= CRITICAL_PRIORITY or is_static(pod.metadata)


def is_static(meta: ObjectMeta) -> bool:
    """A mirror pod stands for one that did not come from the API server."""
    return MIRROR_POD_ANNOTATION in meta.annotations


def decide_admission(
    pod: Pod, node: Node, load: Load, requests: Mapping[str, int], *, best_effort: bool, comparison_operators: bool
) -> PodRejection | Shortfall | None:
    """Rules 1 to 5; None admits."""
    refusal = _pressure_refusal(pod, node, best_effort=best_effort, comparison_operators=comparison_operators)
    if refusal is not None:
        return refusal
    security = pod.spec.security_context
    if security is not None:
        for sysctl in security.sysctls:
            name = _with_dots(sysctl.name)
            if name not in SAFE_SYSCTLS:
                return PodRejection("SysctlForbidden", f'forbidden sysctl: "{name}" not allowlisted')
    labels = node.metadata.labels
    wanted_os = pod.metadata.labels.get(OS_LABEL)
    if wanted_os and wanted_os != labels.get(OS_LABEL):
        return PodRejection(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if pod.spec.os is not None and pod.spec.os.name and pod.spec.os.name != labels.get(OS_LABEL):
        return PodRejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    if security is not None and security.supplemental_groups_policy == "Strict":
        features = node.status.features
        if features is None or not features.supplemental_groups_policy:
            return PodRejection(
                "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"
            )
    lacking = _lacking_resources(node, load, requests)
    others = _other_failures(pod, node, load, comparison_operators=comparison_operators)
    if is_critical(pod) and lacking and not others:
        return Shortfall(tuple(lacking))
    ordered = others if is_critical(pod) else (*lacking, *others)
    return ordered[0] if ordered else None


def _pressure_refusal(pod: Pod, node: Node, *, best_effort: bool, comparison_operators: bool) -> PodRejection | None:
    pressures = [
        kind
        for kind in ("DiskPressure", "MemoryPressure", "PIDPressure")
        if (condition := node.status.condition(kind)) is not None and condition.status == "True"
    ]
    if not pressures or is_critical(pod):
        return None
    if pressures == ["MemoryPressure"]:
        tolerations = pod.spec.tolerations
        if not best_effort or is_tolerated(
            MEMORY_PRESSURE_TAINT, tolerations, comparison_operators=comparison_operators
        ):
            return None
    return PodRejection("Evicted", f"The node had condition: [{' '.join(pressures)}]. ")


def _lacking_resources(node: Node, load: Load, requests: Mapping[str, int]) -> list[PodRejection]:
    capacity = counted_quantities(node.status.allocatable)
    lacking = []
    if load.pods + 1 > capacity.get(PODS, 0):
        lacking.append(_out_of(PODS, 1, load.pods, capacity.get(PODS, 0)))
    known = (
        resource
        for resource in requests
        if resource not in NATIVE and (resource in capacity or not may_be_devices(resource))
    )
    for resource in (*NATIVE, *sorted(known)):
        requested = requests.get(resource, 0)
        if requested and requested + load.requests.get(resource, 0) > capacity.get(resource, 0):
            lacking.append(_out_of(resource, requested, load.requests.get(resource, 0), capacity.get(resource, 0)))
    return lacking


def _other_failures(pod: Pod, node: Node, load: Load, *, comparison_operators: bool) -> Sequence[PodRejection]:
    found = []
    if not selects_node(pod.spec, node.metadata.labels, node.metadata.name):
        found.append(_failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"))
    if pod.spec.node_name != node.metadata.name:
        found.append(_failed("NodeName", "node(s) didn't match the requested node name"))
    if do_conflict(host_ports(pod.spec), load.ports):
        found.append(_failed("NodePorts", "node(s) didn't have free ports for the requested pod ports"))
    untolerated = first_untolerated_or_none(
        node.spec.taints, pod.spec.tolerations, effects=EVICTS, comparison_operators=comparison_operators
    )
    if untolerated is not None and not is_static(pod.metadata):
        found.append(_failed("TaintToleration", "node(s) had taints that the pod didn't tolerate"))
    return found


def _with_dots(sysctl: str) -> str:
    """Slashes may stand for dots; then dots stand for slashes.

    >>> _with_dots("net/ipv4/conf/eth0.1/forwarding"), _with_dots("net.core.somaxconn")
    ('net.ipv4.conf.eth0/1.forwarding', 'net.core.somaxconn')
    """
    first = next((sign for sign in sysctl if sign in "./"), ".")
    return sysctl if first == "." else sysctl.translate(_SWAPPED)


def _failed(predicate: str, text: str) -> PodRejection:
    return PodRejection(predicate, f"Predicate {predicate} failed: {text}")


def _out_of(resource: str, requested: int, used: int, capacity: int) -> PodRejection:
    text = f"Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
    return PodRejection(f"OutOf{resource}", text, resource, requested + used - capacity)


_SWAPPED: Final = str.maketrans("./", "/.")
