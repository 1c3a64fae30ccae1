"""ServiceCIDRs and IPAddresses: which addresses services may have, and who has one."""

from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.addresses import cidr_faults, ip_faults, network_or_none
from doorman.semantics.name_syntax import path_segment_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part, badly, fixed, maybe, named
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update

_ONE_A_FAMILY: Final = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _range_errors(spec: Part) -> list[FieldError]:
    path, ranges = "spec.cidrs", spec.get("cidrs") or []
    if not ranges:
        return [required(path, "at least one CIDR required")]
    if len(ranges) > 2:
        return [invalid(path, spec, "may only hold up to 2 values")]
    errors = [error for i, text in enumerate(ranges) for error in badly(f"{path}[{i}]", text, cidr_faults(text))]
    families = [network.version for network in map(network_or_none, ranges) if network is not None]
    if len(families) == 2 and families[0] == families[1]:
        errors.append(invalid(path, ranges, _ONE_A_FAMILY))
    return errors


def _range_change_errors(new: Part, old: Part) -> list[FieldError]:
    after, before = new.get("cidrs") or [], old.get("cidrs") or []
    if len(after) == len(before):
        return [invalid(f"spec.cidrs[{i}]", text, IMMUTABLE) for i, text in enumerate(after) if text != before[i]]
    if len(before) == 1 and len(after) == 2:
        changed = [invalid("spec.cidrs[0]", after[0], IMMUTABLE)] if after[0] != before[0] else []
        return [*changed, *_range_errors(new)]
    return [invalid("spec.cidrs", after, IMMUTABLE)]


def _create_range(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_range_errors(doc.get("spec") or {})]


def _update_range(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if not context.subresource:
        errors += _range_change_errors(new.get("spec") or {}, old.get("spec") or {})
    return distinct(errors)


def _create_address(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc, ip_faults)
    parent = (doc.get("spec") or {}).get("parentRef")
    path = "spec.parentRef"
    if parent is None:
        return [*errors, required(path)]
    errors += maybe(parent, "group", path, subdomain_faults)
    for name in ("resource", "name"):
        errors += named(parent, name, path, path_segment_faults)
    return [*errors, *maybe(parent, "namespace", path, path_segment_faults)]


def _update_address(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*_create_address(new, _context), *validate_metadata_update(new, old)]
    return distinct([*errors, *fixed(new.get("spec") or {}, old.get("spec") or {}, "parentRef", "spec")])


SERVICE_CIDR: Final = Validator(create=_create_range, update=_update_range)
IP_ADDRESS: Final = Validator(create=_create_address, update=_update_address)
