"""Device taints, resource slices, device taint rules and device classes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, Json, duplicate, invalid, not_supported, required, too_many
from doorman.semantics.name_syntax import (
    dns_label_faults,
    label_value_faults,
    max_length_fault,
    qualified_name_faults,
    subdomain_faults,
)
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update
from doorman.validation.selectors import node_selector_errors

DEVICES_MAX: Final = 128
DEVICES_WITH_TAINTS_MAX: Final = 64
TAINTS_MAX: Final = 16
DRIVER_NAME_BYTES_MAX: Final = 63
POOL_NAME_BYTES_MAX: Final = 253
ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
SELECTORS_MAX: Final = 32
EFFECTS: Final = ("NoExecute", "NoSchedule", "None")

_PLACES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ATTRIBUTE_VALUES: Final = ("bool", "int", "string", "version", "bools", "ints", "strings", "versions")


def device_taint_errors(taint: Mapping[str, Any], path: str, *, stored_effect: str = "") -> list[FieldError]:
    """An unknown effect that is stored already may stay."""
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    errors = [invalid(f"{path}.key", key, fault) for fault in qualified_name_faults(key)]
    errors.extend(invalid(f"{path}.value", value, fault) for fault in label_value_faults(value))
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in EFFECTS and effect != stored_effect:
        errors.append(not_supported(f"{path}.effect", Json(effect), EFFECTS))
    return errors


def driver_errors(driver: str, path: str) -> list[FieldError]:
    if not driver:
        return [required(path)]
    errors = []
    if len(driver) > DRIVER_NAME_BYTES_MAX:
        errors.append(invalid(path, driver, max_length_fault(DRIVER_NAME_BYTES_MAX)))
    errors.extend(invalid(path, driver, fault) for fault in subdomain_faults(driver))
    return errors


def pool_name_errors(pool: str, path: str) -> list[FieldError]:
    if not pool:
        return [required(path)]
    errors = []
    if len(pool) > POOL_NAME_BYTES_MAX:
        errors.append(invalid(path, pool, max_length_fault(POOL_NAME_BYTES_MAX)))
    for part in pool.split("/"):
        errors.extend(invalid(path, part, fault) for fault in subdomain_faults(part))
    return errors


def cel_selector_errors(selectors: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(selectors) > SELECTORS_MAX:
        errors.append(too_many(path, len(selectors), SELECTORS_MAX))
    for index, selector in enumerate(selectors):
        if "cel" not in selector:
            errors.append(required(f"{path}[{index}].cel"))
        elif not selector["cel"].get("expression"):
            errors.append(required(f"{path}[{index}].cel.expression"))
    return errors


# Resource slices


def _slice_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_slice_errors(doc.get("spec") or {}, {})]


def _slice_update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    errors = [*validate_metadata_update(new, old), *validate_metadata(new), *_slice_errors(after, before)]
    errors.extend(
        invalid(f"spec.{field}", after.get(field), IMMUTABLE)
        for field in ("nodeName", "driver")
        if after.get(field) != before.get(field)
    )
    after_pool, before_pool = (after.get("pool") or {}).get("name"), (before.get("pool") or {}).get("name")
    if after_pool != before_pool:
        errors.append(invalid("spec.pool.name", after_pool, IMMUTABLE))
    return distinct(errors)


def _slice_errors(spec: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    errors = driver_errors(spec.get("driver", ""), "spec.driver")
    errors.extend(_pool_errors(spec.get("pool") or {}))
    errors.extend(_place_errors(spec))
    devices = spec.get("devices") or ()
    has_taints = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    devices_max = DEVICES_WITH_TAINTS_MAX if has_taints else DEVICES_MAX
    if len(devices) > devices_max:
        errors.append(too_many("spec.devices", len(devices), devices_max))
    stored = {device.get("name", ""): device for device in old.get("devices") or ()}
    names: set[str] = set()
    for index, device in enumerate(devices):
        name = device.get("name", "")
        errors.extend(_device_errors(device, stored.get(name) or {}, f"spec.devices[{index}]"))
        if name in names:
            errors.append(duplicate(f"spec.devices[{index}]", name))
        names.add(name)
    return errors


def _pool_errors(pool: Mapping[str, Any]) -> list[FieldError]:
    errors = pool_name_errors(pool.get("name", ""), "spec.pool.name")
    if (count := pool.get("resourceSliceCount", 0)) <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if (generation := pool.get("generation", 0)) < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _place_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    """Exactly one way to say where the devices are."""
    given = [field for field in _PLACES if spec.get(field)]
    names = ", ".join(f"`{field}`" for field in _PLACES)
    if not given:
        return [required("spec", f"exactly one of {names} is required")]
    if len(given) > 1:
        listed = "{" + ", ".join(given) + "}"
        return [invalid("spec", listed, f"exactly one of {names} is required, but multiple fields are set")]
    if given == ["nodeName"]:
        name = spec["nodeName"]
        return [invalid("spec.nodeName", name, fault) for fault in subdomain_faults(name)]
    if given == ["nodeSelector"]:
        return node_selector_errors(spec["nodeSelector"], "spec.nodeSelector")
    return []


def _device_errors(device: Mapping[str, Any], stored: Mapping[str, Any], path: str) -> list[FieldError]:
    name = device.get("name", "")
    errors = [required(f"{path}.name")] if not name else []
    errors.extend(invalid(f"{path}.name", name, fault) for fault in (dns_label_faults(name) if name else ()))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > ATTRIBUTES_AND_CAPACITIES_MAX:
        text = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        errors.append(invalid(path, len(attributes) + len(capacity), text))
    for key, attribute in attributes.items():
        at = f"{path}.attributes[{key}]"
        given = [field for field in _ATTRIBUTE_VALUES if field in attribute]
        if not given:
            errors.append(required(at, "exactly one value must be specified"))
        elif len(given) > 1:
            errors.append(invalid(at, attribute, "exactly one value must be specified"))
    taints = device.get("taints") or ()
    if len(taints) > TAINTS_MAX:
        return [*errors, too_many(f"{path}.taints", len(taints), TAINTS_MAX)]
    old_taints = stored.get("taints") or ()
    for index, taint in enumerate(taints):
        was = old_taints[index].get("effect", "") if index < len(old_taints) else ""
        errors.extend(device_taint_errors(taint, f"{path}.taints[{index}]", stored_effect=was))
    return errors


# Device taint rules


def _rule_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_rule_errors(doc.get("spec") or {}, {})]


def _rule_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "status":
        return errors
    errors.extend(validate_metadata(new))
    errors.extend(_rule_errors(new.get("spec") or {}, old.get("spec") or {}))
    return distinct(errors)


def _rule_errors(spec: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    selector = spec.get("deviceSelector") or {}
    if driver := selector.get("driver"):
        errors.extend(driver_errors(driver, "spec.deviceSelector.driver"))
    if pool := selector.get("pool"):
        errors.extend(pool_name_errors(pool, "spec.deviceSelector.pool"))
    if device := selector.get("device"):
        errors.extend(invalid("spec.deviceSelector.device", device, fault) for fault in dns_label_faults(device))
    was = (old.get("taint") or {}).get("effect", "")
    errors.extend(device_taint_errors(spec.get("taint") or {}, "spec.taint", stored_effect=was))
    return errors


# Device classes


def _class_create(doc: Document, _context: Context) -> list[FieldError]:
    spec = doc.get("spec") or {}
    errors = validate_metadata(doc)
    errors.extend(cel_selector_errors(spec.get("selectors") or (), "spec.selectors"))
    if name := spec.get("extendedResourceName"):
        errors.extend(invalid("spec.extendedResourceName", name, fault) for fault in qualified_name_faults(name))
    return errors


def _class_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    return distinct([*validate_metadata_update(new, old), *_class_create(new, context)])


RESOURCE_SLICE: Final = Validator(create=_slice_create, update=_slice_update)
DEVICE_TAINT_RULE: Final = Validator(create=_rule_create, update=_rule_update)
DEVICE_CLASS: Final = Validator(create=_class_create, update=_class_update)
