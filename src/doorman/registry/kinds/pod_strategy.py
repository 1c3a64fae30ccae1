"""Pods when they are written: their first status, and what each subresource may change."""

from collections.abc import Mapping

from doorman.api.json_values import copied
from doorman.api.kinds import Kind
from doorman.api.well_known import PREFERRED_TERMS, REQUIRED_TERMS
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.kinds.disabled_pod_fields import drop_disabled_status
from doorman.registry.kinds.pod_level_resources import default_pod_level_resources
from doorman.registry.strategy import prepare_update, restore, take_only
from doorman.semantics.pods.qos import qos_class


def create_pod(kind: Kind, doc: Document, now: Instant) -> None:  # noqa: ARG001
    doc["metadata"]["generation"] = 1
    spec = doc.get("spec", {})
    if "affinity" in spec or "topologySpreadConstraints" in spec:
        _merge_label_keys(spec, doc["metadata"].get("labels") or {})
    if "resources" in spec:
        default_pod_level_resources(spec)
    status: Document = {"phase": "Pending", "qosClass": str(qos_class(spec))}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": to_time(now),
            }
        ]
    doc["status"] = status


def _merge_label_keys(spec: Document, labels: Mapping[str, str]) -> None:
    """`matchLabelKeys` and `mismatchLabelKeys` become expressions with the pod's own values, where there are any."""
    holders: list[Document] = list(spec.get("topologySpreadConstraints") or ())
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        holders.extend(affinity.get(REQUIRED_TERMS) or ())
        holders.extend(one.get("podAffinityTerm") or {} for one in affinity.get(PREFERRED_TERMS) or ())
    for holder in holders:
        selector = holder.get("labelSelector")
        if selector is None:
            continue
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in holder.get(field) or ()
            if key in labels
        ]
        if added:
            # A pod whose generated name was taken comes here again.
            there = selector.get("matchExpressions") or []
            selector["matchExpressions"] = [*there, *(one for one in added if one not in there)]


def update_pod(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    _keep_resources(new.get("spec", {}), old.get("spec", {}))
    prepare_update(kind, new, old, now)


def _keep_resources(after: Document, before: Document) -> None:
    """Resources of the pod as a whole are not taken away by who does not know of them."""
    if "resources" in before and "resources" not in after:
        after["resources"] = before["resources"]


def pod_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    """Labels and annotations may be written here too; spec, owners and the deletion may not."""
    for member in ("spec",):
        restore(new, old, member)
    metadata, before = new["metadata"], old["metadata"]
    for name in ("ownerReferences",):
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    status, was = dict(new.get("status", {})), old.get("status", {})
    new["status"] = status
    for name in ("qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus", "observedGeneration"):
        if name not in status and name in was:
            status[name] = was[name]
    drop_disabled_status(status)


def has_settled_addresses(status: Document) -> bool:
    """Whether the one address is the first of all, or there are none."""
    addresses = status.get("podIPs")
    return (addresses[0].get("ip") if addresses else None) == status.get("podIP")


def settle_addresses(status: Document) -> None:
    """The one address is the first of all; who writes both and differs knows only the one."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and not (addresses and addresses[0].get("ip") == address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip", "")


def ephemeral_containers(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    added = new.get("spec", {}).get("ephemeralContainers")
    take_only(new, old)
    if added is not None:
        new["spec"] = {**old.get("spec", {}), "ephemeralContainers": added}
    _bump_if_changed(kind, new, old)


def resize(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    """Only resources and resize policies come from the request. Validation says if the containers are others."""
    wanted, before = new.get("spec", {}), old.get("spec", {})
    if all(len(wanted.get(group) or ()) == len(before.get(group) or ()) for group in ("containers", "initContainers")):
        take_only(new, old)
        spec = {**before, **{group: _resized(wanted, before, group) for group in ("containers", "initContainers")}}
        spec = {name: value for name, value in spec.items() if name != "initContainers" or value}
        if resources := wanted.get("resources", before.get("resources")):
            spec["resources"] = copied(resources)
        new["spec"] = spec
    default_pod_level_resources(new.setdefault("spec", {}))
    _bump_if_changed(kind, new, old)


def _resized(wanted: Document, before: Document, group: str) -> list[Document]:
    """The stored containers with the resources that are asked for, unless they are renamed or in another order."""
    asked, stored = wanted.get(group) or [], before.get(group) or []
    if [one.get("name") for one in asked] != [one.get("name") for one in stored]:
        return list(asked)
    taken = ("resources", "resizePolicy")
    return [
        {
            **{name: value for name, value in was.items() if name not in taken},
            **{name: copied(one[name]) for name in taken if name in one},
        }
        for one, was in zip(asked, stored, strict=True)
    ]


def _bump_if_changed(kind: Kind, new: Document, old: Document) -> None:
    if kind.generation and new.get("spec") != old.get("spec"):
        new["metadata"] = {**new["metadata"], "generation": old["metadata"].get("generation", 0) + 1}
