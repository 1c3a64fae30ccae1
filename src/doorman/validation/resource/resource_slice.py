"""Resource slices: which devices a driver has, and where they can be used."""

from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator
from doorman.validation.faults import Part
from doorman.validation.metadata import IMMUTABLE, validate_metadata
from doorman.validation.resource.declared.declared_rules import with_declared
from doorman.validation.resource.declared.declared_types import types_of
from doorman.validation.resource.devices.device_names import (
    dns_label_errors,
    driver_errors,
    node_name_errors,
    pool_name_errors,
)
from doorman.validation.resource.devices.slice_device import ATTRIBUTE_LISTS, counters_errors, device_errors
from doorman.validation.resource.list_checks import by_name, set_errors
from doorman.validation.resource.metadata_updates import update_metadata_errors
from doorman.validation.selectors import node_selector_errors

DEVICES_MAX: Final = 128
DEVICES_WITH_MORE_MAX: Final = 64
"""When any of them has taints, consumes counters or has attributes that are lists."""
COUNTER_SETS_MAX: Final = 8

_PLACES: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_TRUE_OR_UNSET: Final = "must be either unset or set to true"


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_spec_errors(doc.get("spec") or {}, None)]


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    return [*update_metadata_errors(new, old), *_spec_errors(new.get("spec") or {}, old.get("spec") or {})]


def _spec_errors(spec: Part, old: Part | None) -> list[FieldError]:
    pool = spec.get("pool") or {}
    errors = [*driver_errors(spec.get("driver") or "", "spec.driver"), *_pool_errors(pool)]
    if old is not None:
        errors.extend(_fixed_errors(spec, old))
    errors.extend(_place_errors(spec))
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if devices is not None and counters is not None:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    stored = {device.get("name"): device for device in reversed((old or {}).get("devices") or ())}
    has_own_place = bool(spec.get("perDeviceNodeSelection"))

    def device(one: Part, path: str) -> list[FieldError]:
        return device_errors(one, stored.get(one.get("name")), path, has_own_place=has_own_place)

    devices_max = DEVICES_WITH_MORE_MAX if any(_has_more(one) for one in devices or ()) else DEVICES_MAX
    errors.extend(set_errors(devices, "spec.devices", devices_max, device, by_name))
    return [*errors, *set_errors(counters, "spec.sharedCounters", COUNTER_SETS_MAX, _counter_set, by_name)]


def _pool_errors(pool: Part) -> list[FieldError]:
    errors = pool_name_errors(pool.get("name") or "", "spec.pool.name")
    if (count := pool.get("resourceSliceCount") or 0) <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if (generation := pool.get("generation") or 0) < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _fixed_errors(spec: Part, old: Part) -> list[FieldError]:
    name, before = ((one.get("pool") or {}).get("name") or "" for one in (spec, old))
    errors = [invalid("spec.pool.name", name, IMMUTABLE)] if name != before else []
    if (spec.get("driver") or "") != (old.get("driver") or ""):
        errors.append(invalid("spec.driver", spec.get("driver") or "", IMMUTABLE))
    if spec.get("nodeName") != old.get("nodeName"):
        errors.append(invalid("spec.nodeName", spec.get("nodeName"), IMMUTABLE))
    return errors


def _place_errors(spec: Part) -> list[FieldError]:
    """Exactly one way to say where the devices can be used."""
    errors: list[FieldError] = []
    given: list[str] = []
    if (name := spec.get("nodeName")) is not None:
        if name:
            given.append("`nodeName`")
            errors.extend(node_name_errors(name, "spec.nodeName"))
        else:
            errors.append(invalid("spec.nodeName", name, "must be either unset or set to a non-empty string"))
    if (selector := spec.get("nodeSelector")) is not None:
        given.append("`nodeSelector`")
        errors.extend(node_selector_errors(selector, "spec.nodeSelector"))
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            text = "must have exactly one node selector term"
            errors.append(invalid("spec.nodeSelector.nodeSelectorTerms", terms, text))
    for member in ("allNodes", "perDeviceNodeSelection"):
        if (value := spec.get(member)) is not None:
            if value:
                given.append(f"`{member}`")
            else:
                errors.append(invalid(f"spec.{member}", value, _TRUE_OR_UNSET))
    if not given:
        errors.append(required("spec", _PLACES))
    elif len(given) > 1:
        errors.append(invalid("spec", "{" + ", ".join(given) + "}", f"{_PLACES}, but multiple fields are set"))
    return errors


def _has_more(device: Part) -> bool:
    if device.get("taints") or device.get("consumesCounters"):
        return True
    return any(name in attribute for attribute in (device.get("attributes") or {}).values() for name in ATTRIBUTE_LISTS)


def _counter_set(counters: Part, path: str) -> list[FieldError]:
    name = counters.get("name") or ""
    errors = dns_label_errors(name, f"{path}.name") if name else [required(f"{path}.name")]
    return [*errors, *counters_errors(counters.get("counters"), f"{path}.counters")]


RESOURCE_SLICE: Final = with_declared(
    "ResourceSlice", "resourceslices.resource.k8s.io", types_of, Validator(create=_create, update=_update)
)
