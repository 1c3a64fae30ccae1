"""A node: its taints, its resources, and what is fixed once it is set."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, duplicate, forbidden, invalid
from doorman.semantics.name_syntax import CIDR_FAULT, cidr_version_or_none
from doorman.validation.context import Context, distinct
from doorman.validation.core.node_taint_rules import taint_annotation_errors, taint_errors
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.resources import quantity_errors

_ONE_OF_A_FAMILY: Final = "may specify no more than one CIDR for each IP family"
_FIXED_CIDRS: Final = 'node updates may not change podCIDR except from "" to valid'
_MODIFIED: Final = "field cannot be modified once set"
_CLEARED: Final = "field cannot be cleared once set"


def validate_node_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*_metadata_errors(doc), *_taint_errors(doc), *_status_errors(doc), *_range_errors(doc)]


def validate_node_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    """Both the checks of a create and those of an update. A write of the status leaves the spec as stored."""
    if context.subresource == "status":
        errors = [*validate_metadata_update(new, old), *_annotation_errors(new), *_status_errors(new)]
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
    ):
        return False
    errors = [*validate_metadata_update(new, old), *_annotation_errors(new), *_taint_errors(new)]
    return not errors and not _fixed_errors(new, old)


def _metadata_errors(doc: Document) -> list[FieldError]:
    return [*validate_metadata(doc), *_annotation_errors(doc)]


def _annotation_errors(doc: Document) -> list[FieldError]:
    annotations = doc["metadata"].get("annotations")
    return taint_annotation_errors(annotations) if annotations else []


def _taint_errors(doc: Document) -> list[FieldError]:
    taints = (doc.get("spec") or {}).get("taints")
    return taint_errors(taints) if taints else []


def _status_errors(doc: Document) -> list[FieldError]:
    return [*_resource_errors(doc, "capacity"), *_resource_errors(doc, "allocatable")]


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
    versions = [cidr_version_or_none(cidr) for cidr in cidrs]
    errors = [
        invalid(f"{path}[{index}]", cidr, CIDR_FAULT)
        for index, (cidr, version) in enumerate(zip(cidrs, versions, strict=True))
        if version is None
    ]
    if len(cidrs) > 1:
        if len(cidrs) > 2 or len(set(versions)) < 2:
            errors.append(invalid(path, list(cidrs), _ONE_OF_A_FAMILY))
            if len(cidrs) > 2:
                return errors
        errors.extend(duplicate(f"{path}[{at}]", cidr) for at, cidr in enumerate(cidrs) if cidr in cidrs[:at])
    return errors


def _resource_errors(doc: Document, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, quantity in ((doc.get("status") or {}).get(field) or {}).items():
        errors.extend(quantity_errors(name, quantity, f"status.{field}.{name}"))
    return errors
