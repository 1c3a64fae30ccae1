"""One device of a resource slice."""

import re
from typing import Final

from doorman.base.errors import FieldError, invalid, required, too_long
from doorman.validation.faults import Part
from doorman.validation.resource.devices.device_binding import binding_errors
from doorman.validation.resource.devices.device_capacity import capacity_errors
from doorman.validation.resource.devices.device_names import (
    QUALIFIED_NAME_CHARS_MAX,
    dns_label_errors,
    node_name_errors,
    qualified_name_errors,
)
from doorman.validation.resource.devices.device_taint import device_taint_errors
from doorman.validation.resource.list_checks import UNBOUNDED, list_errors, map_errors, nothing, set_errors
from doorman.validation.selectors import node_selector_errors

TAINTS_MAX: Final = 16
ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
ATTRIBUTE_VALUES_MAX: Final = 48
ATTRIBUTE_BYTES_MAX: Final = 64
CONSUMPTIONS_MAX: Final = 2
COUNTERS_MAX: Final = 32
LABEL_CHARS_MAX: Final = 63
ATTRIBUTE_LISTS: Final = ("bools", "ints", "strings", "versions")
ATTRIBUTE_VALUES: Final = ("bool", "int", "string", "version", *ATTRIBUTE_LISTS)

_ONE_PLACE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_PLACE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_VERSION_RE: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)


def device_errors(device: Part, old: Part | None, path: str, *, has_own_place: bool) -> list[FieldError]:
    """`has_own_place`: whether each device of the slice says where it can be used. What is as it was is not checked."""
    errors = dns_label_errors(device.get("name") or "", f"{path}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > ATTRIBUTES_AND_CAPACITIES_MAX:
        text = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        errors.append(invalid(path, len(attributes) + len(capacity), text))
    values = sum(
        sum(len(attribute.get(name) or ()) for name in ATTRIBUTE_LISTS) or 1 for attribute in attributes.values()
    )
    if values > ATTRIBUTE_VALUES_MAX:
        text = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}"
        errors.append(invalid(path, values, text))
    errors.extend(
        map_errors(
            attributes, f"{path}.attributes", UNBOUNDED, QUALIFIED_NAME_CHARS_MAX, qualified_name_errors, _attribute
        )
    )
    if old is None or (old.get("capacity") or {}) != capacity:
        errors.extend(_capacities(device, capacity, f"{path}.capacity"))
    taints = device.get("taints") or []
    if old is None or (old.get("taints") or []) != taints:
        errors.extend(list_errors(taints, f"{path}.taints", TAINTS_MAX, device_taint_errors))
    errors.extend(
        set_errors(
            device.get("consumesCounters"),
            f"{path}.consumesCounters",
            CONSUMPTIONS_MAX,
            _consumption,
            lambda one: one.get("counterSet") or "",
        )
    )
    errors.extend(_place_errors(device, path) if has_own_place else _no_place_errors(device, path))
    return [*errors, *binding_errors(device, path)]


def counters_errors(counters: Part | None, path: str) -> list[FieldError]:
    if not counters:
        return [required(path)]
    return map_errors(counters, path, COUNTERS_MAX, LABEL_CHARS_MAX, dns_label_errors, nothing)


def _capacities(device: Part, capacity: Part, path: str) -> list[FieldError]:
    is_shared = bool(device.get("allowMultipleAllocations"))

    def check(one: Part, at: str) -> list[FieldError]:
        return capacity_errors(one, at, is_shared=is_shared)

    return map_errors(capacity, path, UNBOUNDED, QUALIFIED_NAME_CHARS_MAX, qualified_name_errors, check)


def _consumption(consumption: Part, path: str) -> list[FieldError]:
    name = consumption.get("counterSet") or ""
    errors = dns_label_errors(name, f"{path}.counterSet") if name else [required(f"{path}.counterSet")]
    return [*errors, *counters_errors(consumption.get("counters"), f"{path}.counters")]


def _values_of(attribute: Part) -> int:
    return sum(len(attribute.get(name) or ()) for name in ATTRIBUTE_LISTS) or 1


def _attribute(attribute: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (text := attribute.get("string")) is not None:
        errors.extend(_text(text, f"{path}.string"))
    if (version := attribute.get("version")) is not None:
        errors.extend(_version(version, f"{path}.version"))
    for name, check in (("bools", nothing), ("ints", nothing), ("strings", _text), ("versions", _version)):
        items = attribute.get(name)
        if items is not None:
            if not items:
                errors.append(invalid(f"{path}.{name}", items, "must not be empty if specified"))
            errors.extend(list_errors(items, f"{path}.{name}", UNBOUNDED, check))
    given = [name for name in ATTRIBUTE_VALUES if name in attribute]
    if len(given) != 1:
        errors.append(invalid(path, attribute if given else "", "exactly one value must be specified"))
    return errors


def _text(text: str, path: str) -> list[FieldError]:
    return [too_long(path, ATTRIBUTE_BYTES_MAX)] if len(text.encode()) > ATTRIBUTE_BYTES_MAX else []


def _version(version: str, path: str) -> list[FieldError]:
    is_version = _VERSION_RE.fullmatch(version) is not None
    errors = [] if is_version else [invalid(path, version, "must be a string compatible with semver.org spec 2.0.0")]
    return [*errors, *_text(version, path)]


def _place_errors(device: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    given: list[str] = []
    if (name := device.get("nodeName")) is not None:
        if name:
            given.append("`nodeName`")
            errors.extend(node_name_errors(name, f"{path}.nodeName"))
        else:
            errors.append(invalid(f"{path}.nodeName", name, "must not be empty"))
    if (selector := device.get("nodeSelector")) is not None:
        given.append("`nodeSelector`")
        errors.extend(node_selector_errors(selector, f"{path}.nodeSelector"))
    if (every := device.get("allNodes")) is not None:
        if every:
            given.append("`allNodes`")
        else:
            errors.append(invalid(f"{path}.allNodes", every, "must be either unset or set to true"))
    if not given:
        errors.append(required(path, _ONE_PLACE))
    elif len(given) > 1:
        errors.append(invalid(path, "{" + ", ".join(given) + "}", _ONE_PLACE))
    return errors


def _no_place_errors(device: Part, path: str) -> list[FieldError]:
    has_place = any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes"))
    return [invalid(path, None, _NO_PLACE)] if has_place else []
