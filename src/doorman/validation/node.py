"""A node: its taints, its resources, and what is fixed once it is set."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.schema import Document
from doorman.base.errors import FieldError, duplicate, forbidden, invalid
from doorman.semantics.names import CIDR_FAULT, cidr_version_or_none
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.resources import quantity_errors
from doorman.validation.taints import taint_annotation_errors, taint_errors

_ONE_OF_A_FAMILY: Final = "may specify no more than one CIDR for each IP family"
_FIXED_CIDRS: Final = 'node updates may not change podCIDR except from "" to valid'
_MODIFIED: Final = "field cannot be modified once set"
_CLEARED: Final = "field cannot be cleared once set"


def validate_node_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    if annotations := doc["metadata"].get("annotations"):
        errors.extend(taint_annotation_errors(annotations))
    if taints := (doc.get("spec") or {}).get("taints"):
        errors.extend(taint_errors(taints))
    errors.extend(_resource_errors(doc, "capacity"))
    errors.extend(_resource_errors(doc, "allocatable"))
    if cidrs := (doc.get("spec") or {}).get("podCIDRs"):
        errors.extend(_cidr_errors(cidrs))
    return errors


def validate_node_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    """Both the checks of a create and those of an update. A write of the status leaves the spec as stored."""
    if context.subresource == "status":
        return _update_errors(new, old)
    return distinct([*validate_node_create(new, context), *_update_errors(new, old)])


def _update_errors(new: Document, old: Document) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if annotations := new["metadata"].get("annotations"):
        errors.extend(taint_annotation_errors(annotations))
    after: Mapping[str, Any] = new.get("spec") or {}
    before: Mapping[str, Any] = old.get("spec") or {}
    errors.extend(_resource_errors(new, "capacity"))
    errors.extend(_resource_errors(new, "allocatable"))
    seen: list[Any] = []
    for index, address in enumerate((new.get("status") or {}).get("addresses") or ()):
        if address in seen:
            errors.append(duplicate(f"status.addresses[{index}]", address))
        seen.append(address)
    if before.get("podCIDRs") and after.get("podCIDRs") != before["podCIDRs"]:
        errors.append(forbidden("spec.podCIDRs", _FIXED_CIDRS))
    if taints := after.get("taints"):
        errors.extend(taint_errors(taints))
    if after.get("externalID", "") != before.get("externalID", ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    if (provider := before.get("providerID")) and after.get("providerID") != provider:
        errors.append(invalid("spec.providerID", None, _MODIFIED if after.get("providerID") else _CLEARED))
    return errors


def _cidr_errors(cidrs: Sequence[str]) -> list[FieldError]:
    """At most one range of each family."""
    path = "spec.podCIDRs"
    versions = [cidr_version_or_none(cidr) for cidr in cidrs]
    errors = [
        invalid(f"{path}[{index}]", cidr, CIDR_FAULT)
        for index, (cidr, version) in enumerate(zip(cidrs, versions, strict=True))
        if version is None
    ]
    if len(cidrs) > 1:
        if len(cidrs) > 2 or len(set(versions)) < 2:
            errors.append(invalid(path, list(cidrs), _ONE_OF_A_FAMILY))
        errors.extend(duplicate(f"{path}[{at}]", cidr) for at, cidr in enumerate(cidrs) if cidr in cidrs[:at])
    return errors


def _resource_errors(doc: Document, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, quantity in ((doc.get("status") or {}).get(field) or {}).items():
        errors.extend(quantity_errors(name, quantity, f"status.{field}.{name}"))
    return errors
