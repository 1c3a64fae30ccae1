"""A node as kubectl describes it, with the pods on it and what they take."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity, quantity_text
from doorman.api.well_known import NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.cli.describe.description import Description, Doc, date, member
from doorman.cli.describe.related_objects import RelatedObjects
from doorman.semantics.pods.pod_resources import is_written_in_binary, pod_amounts

_ROLE: Final = "node-role.kubernetes.io/"
_OTHER_ROLE: Final = "kubernetes.io/role"
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NODE_LEASE_NAMESPACE}/leases/{{}}"
_SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
_NOT_FINISHED: Final = "status.phase!=Failed,status.phase!=Succeeded"
_POOLS_MAX: Final = 10
_SYSTEM: Final = (
    ("Machine ID", "machineID"), ("System UUID", "systemUUID"), ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"), ("OS Image", "osImage"), ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"), ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
)  # fmt: skip


def describe_node(out: Description, node: Doc, related: RelatedObjects) -> None:
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    out.pair("Name", metadata["name"])
    out.pair("Roles", ",".join(_roles(metadata.get("labels") or {})) or "<none>")
    out.labels("Labels", metadata.get("labels"))
    out.annotations(metadata.get("annotations"))
    out.pair("CreationTimestamp", date(metadata.get("creationTimestamp")))
    out.several("Taints", sorted(taint_text(one) for one in spec.get("taints") or ()))
    out.pair("Unschedulable", "true" if spec.get("unschedulable") else "false")
    name = metadata["name"]
    _describe_lease(out, name, related.find(_LEASE.format(name)))
    _describe_conditions(out, status.get("conditions") or ())
    out.line("Addresses:")
    for address in status.get("addresses") or ():
        out.pair(address["type"], address["address"], 1)
    for title, field in (("Capacity", "capacity"), ("Allocatable", "allocatable")):
        if status.get(field):
            out.line(f"{title}:")
            for resource, amount in sorted(status[field].items()):
                out.pair(resource, amount, 1)
    _describe_slices(out, related.items(_SLICES, fieldSelector=f"spec.nodeName={name}"))
    out.line("System Info:")
    for title, field in _SYSTEM:
        out.pair(title, member(status, "nodeInfo", field) or "", 1)
    if spec.get("podCIDR"):
        out.pair("PodCIDR", spec["podCIDR"])
        out.pair("PodCIDRs", ",".join(spec.get("podCIDRs") or ()))
    if spec.get("providerID"):
        out.pair("ProviderID", spec["providerID"])
    pods = related.items("/api/v1/pods", fieldSelector=f"spec.nodeName={name},{_NOT_FINISHED}")
    _describe_pods(out, status.get("allocatable") or status.get("capacity") or {}, pods, related.now())


def taint_text(taint: Doc) -> str:
    """
    >>> taint_text({"key": "a", "value": "b", "effect": "NoSchedule"}), taint_text({"key": "a", "effect": "NoExecute"})
    ('a=b:NoSchedule', 'a:NoExecute')
    """
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _roles(labels: Mapping[str, str]) -> list[str]:
    found = {name.removeprefix(_ROLE) for name in labels if name.startswith(_ROLE) and name != _ROLE}
    if labels.get(_OTHER_ROLE):
        found.add(labels[_OTHER_ROLE])
    return sorted(found)


def _describe_lease(out: Description, name: str, lease: Doc | None) -> None:
    if lease is None:
        out.line(f'Lease:\tFailed to get lease: leases.coordination.k8s.io "{name}" not found')
        return
    spec = lease.get("spec") or {}
    out.line("Lease:")
    out.pair("HolderIdentity", spec.get("holderIdentity") or "<unset>", 1)
    out.pair("AcquireTime", date(spec.get("acquireTime")), 1)
    out.pair("RenewTime", date(spec.get("renewTime")), 1)


def _describe_conditions(out: Description, conditions: Sequence[Doc]) -> None:
    if not conditions:
        return
    out.line("Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage")
    out.line("----\t------\t-----------------\t------------------\t------\t-------", 1)
    for one in conditions:
        times = (date(one.get("lastHeartbeatTime")), date(one.get("lastTransitionTime")))
        words = (one["type"], one["status"], *times, one.get("reason", ""), one.get("message", ""))
        out.line(" \t".join(words), 1)


def _describe_slices(out: Description, slices: Sequence[Doc]) -> None:
    """By driver and pool, and of many pools the first."""
    pools: dict[tuple[str, str], list[Doc]] = {}
    for one in slices:
        pools.setdefault((one["spec"]["driver"], one["spec"]["pool"]["name"]), []).append(one["spec"])
    if not pools:
        return
    rows = [(*key, len(found), sum(len(one.get("devices") or ()) for one in found)) for key, found in pools.items()]
    rows.sort(key=lambda row: f"{row[0]}/{row[1]}")
    out.line("Node-Local ResourceSlices:")
    out.table(("Driver", "Pool", "Slices", "Devices"), rows[:_POOLS_MAX])
    if len(rows) > _POOLS_MAX:
        out.line(f"...and {len(rows) - _POOLS_MAX} more pools", 1)


def _describe_pods(
    out: Description, allocatable: Mapping[str, str], pods: Sequence[dict[str, Any]], now: Instant
) -> None:
    out.line(f"Non-terminated Pods:\t({len(pods)} in total)")
    out.line("Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge", 1)
    out.line("---------\t----\t\t------------\t----------\t---------------\t-------------\t---", 1)
    there = {name: parse_quantity(amount) for name, amount in allocatable.items()}
    taken: dict[str, dict[str, Fraction]] = {"requests": {}, "limits": {}}
    binary: dict[str, bool] = {}
    for pod in pods:
        spec, metadata = pod["spec"], pod["metadata"]
        amounts = {field: pod_amounts(spec, field) for field in taken}
        for field, found in amounts.items():
            for name, amount in found.items():
                taken[field][name] = taken[field].get(name, Fraction(0)) + amount
                binary[name] = binary.get(name, False) or is_written_in_binary(spec, name)
        cells = [
            _share(amounts[field].get(name, Fraction(0)), there.get(name), is_binary=is_written_in_binary(spec, name))
            for name in ("cpu", "memory")
            for field in ("requests", "limits")
        ]
        age = human_span(now - from_time(metadata["creationTimestamp"]))
        out.line("\t".join([metadata["namespace"], metadata["name"], "", *cells, age]), 1)
    _describe_taken(out, there, taken, binary)


def _describe_taken(
    out: Description,
    there: Mapping[str, Fraction],
    taken: Mapping[str, Mapping[str, Fraction]],
    binary: Mapping[str, bool],
) -> None:
    out.line("Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)")
    out.line("Resource\tRequests\tLimits", 1)
    out.line("--------\t--------\t------", 1)
    extended = sorted(name for name in there if name not in (*_STANDARD, "pods"))
    for name in (*_STANDARD, *extended):
        amounts = [taken[field].get(name, Fraction(0)) for field in ("requests", "limits")]
        if name in _STANDARD or name.startswith("hugepages-"):
            cells = [_share(amount, there.get(name), is_binary=binary.get(name, False)) for amount in amounts]
        else:
            cells = [quantity_text(amount, is_binary=binary.get(name, False)) for amount in amounts]
        out.line("\t".join([name, *cells]), 1)


def _share(amount: Fraction, there: Fraction | None, *, is_binary: bool) -> str:
    percent = int(amount / there * 100) if there else 0
    return f"{quantity_text(amount, is_binary=is_binary)} ({percent}%)"
