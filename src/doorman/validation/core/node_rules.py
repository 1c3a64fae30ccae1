"""A node: its taints, its resources, and what is fixed once it is set."""

import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final

from doorman.base.errors import FieldError, FieldErrorType, duplicate, forbidden, invalid
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.addresses import cidr_faults, network_or_none
from doorman.validation.context import Context, distinct
from doorman.validation.core.node_taint_rules import taint_annotation_errors, taint_errors
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.resources import quantity_errors

_ONE_OF_A_FAMILY: Final = "may specify no more than one CIDR for each IP family"
_FIXED_CIDRS: Final = 'node updates may not change podCIDR except from "" to valid'
_MODIFIED: Final = "field cannot be modified once set"
_CLEARED: Final = "field cannot be cleared once set"
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*", re.ASCII)
_FEATURE_BYTES_MAX: Final = 253
_FEATURE_FAULT: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_node_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*_metadata_errors(doc), *_taint_errors(doc), *_status_errors(doc), *_range_errors(doc)]


def validate_node_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    """Both the checks of a create and those of an update. A write of the status leaves the spec as stored."""
    if context.subresource == "status":
        of_status = [*_amount_errors(new), *_feature_errors(new)]
        errors = [*validate_metadata_update(new, old), *_annotation_errors(new), *of_status]
        return [
            *errors,
            *_address_errors(new),
            *_fixed_range_errors(new, old),
            *_taint_errors(new),
            *_fixed_errors(new, old),
        ]
    if _is_plain(new, old):
        return []
    # A status that was not written is what was valid when it was.
    of_status = _status_errors(new) if new.get("status") is not old.get("status") else []
    errors = [*_metadata_errors(new), *_taint_errors(new), *of_status, *_range_errors(new)]
    errors += validate_metadata_update(new, old)
    if new.get("status") is not old.get("status"):
        errors += _address_errors(new)
    return distinct([*errors, *_fixed_range_errors(new, old), *_fixed_errors(new, old)])


def _is_plain(new: Document, old: Document) -> bool:
    """Whether all that has changed is what usually does, labels, annotations and taints, and is valid: most updates."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if (
        new.get("status") is not old.get("status")
        or after.get("podCIDRs") != before.get("podCIDRs")
        or new["metadata"].get("finalizers") != old["metadata"].get("finalizers")
        or new["metadata"].get("generateName") != old["metadata"].get("generateName")
    ):
        return False
    # Whatever the kind is, changed labels and annotations have been looked at.
    return not _annotation_errors(new) and not _taint_errors(new) and not _fixed_errors(new, old)


def _metadata_errors(doc: Document) -> list[FieldError]:
    return [*validate_metadata(doc), *_annotation_errors(doc)]


def _annotation_errors(doc: Document) -> list[FieldError]:
    annotations = doc["metadata"].get("annotations")
    return taint_annotation_errors(annotations) if annotations else []


def _taint_errors(doc: Document) -> list[FieldError]:
    taints = (doc.get("spec") or {}).get("taints")
    return taint_errors(taints) if taints else []


def _status_errors(doc: Document) -> list[FieldError]:
    """Of a whole node; nobody looks at the swap of a status that is written alone."""
    return [*_amount_errors(doc), *_swap_errors(doc), *_feature_errors(doc)]


def _amount_errors(doc: Document) -> list[FieldError]:
    return [*_resource_errors(doc, "capacity"), *_resource_errors(doc, "allocatable")]


def _swap_errors(doc: Document) -> list[FieldError]:
    swap = ((doc.get("status") or {}).get("nodeInfo") or {}).get("swap") or {}
    capacity = swap.get("capacity")
    if capacity is None or capacity > 0:
        return []
    return [invalid("metadata.nodeSwapStatus.capacity", capacity, "must be greater than zero")]


def _address_errors(doc: Document) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: list[Any] = []
    for index, address in enumerate((doc.get("status") or {}).get("addresses") or ()):
        if address in seen:
            errors.append(duplicate(f"status.addresses[{index}]", address))
        seen.append(address)
    return errors


def _range_errors(doc: Document) -> list[FieldError]:
    cidrs = (doc.get("spec") or {}).get("podCIDRs")
    return _cidr_errors(cidrs) if cidrs else []


def _fixed_range_errors(new: Document, old: Document) -> list[FieldError]:
    before = (old.get("spec") or {}).get("podCIDRs")
    if before and (new.get("spec") or {}).get("podCIDRs") != before:
        return [forbidden("spec.podCIDRs", _FIXED_CIDRS)]
    return []


def _fixed_errors(new: Document, old: Document) -> list[FieldError]:
    after: Mapping[str, Any] = new.get("spec") or {}
    before: Mapping[str, Any] = old.get("spec") or {}
    errors: list[FieldError] = []
    if after.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    if (provider := before.get("providerID")) and after.get("providerID") != provider:
        errors.append(invalid("spec.providerID", None, _MODIFIED if after.get("providerID") else _CLEARED))
    return errors


def _cidr_errors(cidrs: Sequence[str]) -> list[FieldError]:
    """At most one range of each family."""
    path = "spec.podCIDRs"
    errors = [
        invalid(f"{path}[{index}]", cidr, fault)
        for index, cidr in enumerate(cidrs)
        for fault in cidr_faults(cidr, legacy=True)
    ]
    if len(cidrs) < 2:
        return errors
    networks = [network_or_none(cidr) for cidr in cidrs]
    families = {_family(network) for network in networks if network is not None}
    if None in networks:
        first = networks.index(None)
        why = f"invalid CIDR[{first}]: <nil> (invalid CIDR address: {cidrs[first]})"
        text = f"Internal error: invalid PodCIDRs. failed to check with dual stack with error:{why}"
        errors.append(FieldError(FieldErrorType.INTERNAL, path, text))
    if None in networks or len(families) < 2 or len(cidrs) > 2:
        errors.append(invalid(path, list(cidrs), _ONE_OF_A_FAMILY))
    return errors


def _family(network: IPv4Network | IPv6Network) -> int:
    """An address of the fourth version may be written as one of the sixth."""
    mapped = isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None
    return 4 if mapped else network.version


def _feature_errors(doc: Document) -> list[FieldError]:
    """Names of features that a node declares: in order, each once."""
    errors: list[FieldError] = []
    features: Sequence[str] = (doc.get("status") or {}).get("declaredFeatures") or ()
    for index, feature in enumerate(features):
        at = f"status.declaredFeatures[{index}]"
        if index and feature == features[index - 1]:
            errors.append(duplicate(at, feature))
        elif index and feature < features[index - 1]:
            errors.append(invalid(at, feature, "list must be sorted alphabetically"))
        if len(feature.encode()) > _FEATURE_BYTES_MAX:
            fault = f"must be no more than {_FEATURE_BYTES_MAX} characters"
        else:
            fault = "" if _FEATURE.fullmatch(feature) else _FEATURE_FAULT
        if fault:
            errors.append(invalid(at, feature, f"invalid feature name {quote(feature)}: {fault}"))
    return errors


def _resource_errors(doc: Document, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, quantity in ((doc.get("status") or {}).get(field) or {}).items():
        errors.extend(quantity_errors(name, quantity, f"status.{field}.{name}"))
    return errors
