"""What a claim asks for: requests, constraints between them, and configuration for drivers."""

from collections.abc import Mapping
from typing import Final

from doorman.base.errors import FieldError, JsonText, invalid, not_supported, required
from doorman.validation.faults import Part
from doorman.validation.resource.devices.device_configuration import configuration_errors
from doorman.validation.resource.devices.device_names import (
    class_name_errors,
    dns_label_errors,
    fully_qualified_name_errors,
)
from doorman.validation.resource.devices.device_selectors import selectors_errors
from doorman.validation.resource.devices.device_taint import device_tolerations_errors
from doorman.validation.resource.list_checks import by_name, itself, list_errors, set_errors

REQUESTS_MAX: Final = 32
CONSTRAINTS_MAX: Final = 32
CONFIGURATIONS_MAX: Final = 32
ALTERNATIVES_MAX: Final = 8
_MODES: Final = ("All", "ExactCount")
_NO_SUCH_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"

RequestNames = Mapping[str, frozenset[str]]
"""The requests of a claim, each with its alternatives."""


def claim_spec_errors(spec: Part, path: str) -> list[FieldError]:
    devices = spec.get("devices") or {}
    names = request_names(devices)
    at = f"{path}.devices"

    def constraint(one: Part, where: str) -> list[FieldError]:
        return _constraint_errors(one, where, names)

    def configuration(one: Part, where: str) -> list[FieldError]:
        return [*request_refs_errors(one, where, names), *configuration_errors(one, where)]

    return [
        *set_errors(devices.get("requests"), f"{at}.requests", REQUESTS_MAX, _request_errors, by_name),
        *list_errors(devices.get("constraints"), f"{at}.constraints", CONSTRAINTS_MAX, constraint),
        *list_errors(devices.get("config"), f"{at}.config", CONFIGURATIONS_MAX, configuration),
    ]


def request_names(devices: Part) -> RequestNames:
    """
    >>> request_names({"requests": [{"name": "a"}, {"name": "b", "firstAvailable": [{"name": "c"}]}]})
    {'a': frozenset(), 'b': frozenset({'c'})}
    """
    return {
        request.get("name") or "": frozenset(one.get("name") or "" for one in request.get("firstAvailable") or ())
        for request in devices.get("requests") or ()
    }


def request_refs_errors(holder: Part, path: str, names: RequestNames) -> list[FieldError]:
    """`requests` of a constraint or a configuration: each names a request once."""

    def check(name: str, at: str) -> list[FieldError]:
        return request_ref_errors(name, at, names)

    return set_errors(holder.get("requests"), f"{path}.requests", REQUESTS_MAX, check, itself)


def request_ref_errors(name: str, path: str, names: RequestNames) -> list[FieldError]:
    """`request` or `request/alternative`."""
    parts = name.split("/")
    if len(parts) > 2:
        return [invalid(path, name, _NO_SUCH_REQUEST)]
    errors = [error for part in parts for error in dns_label_errors(part, path)]
    alternatives = names.get(parts[0])
    is_known = alternatives is not None and (len(parts) == 1 or parts[1] in alternatives)
    return errors if is_known else [*errors, invalid(path, name, _NO_SUCH_REQUEST)]


def _request_errors(request: Part, path: str) -> list[FieldError]:
    errors = dns_label_errors(request.get("name") or "", f"{path}.name")
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        return [*errors, required(path, _ONE_OF)]
    if exactly is not None and alternatives:
        return [*errors, invalid(path, None, f"{_ONE_OF}, but multiple fields are set")]
    if exactly is not None:
        return [*errors, *_wanted_errors(exactly, f"{path}.exactly")]
    return [*errors, *set_errors(alternatives, f"{path}.firstAvailable", ALTERNATIVES_MAX, _alternative, by_name)]


def _alternative(wanted: Part, path: str) -> list[FieldError]:
    return [*dns_label_errors(wanted.get("name") or "", f"{path}.name"), *_wanted_errors(wanted, path)]


def _wanted_errors(wanted: Part, path: str) -> list[FieldError]:
    return [
        *class_name_errors(wanted.get("deviceClassName") or "", f"{path}.deviceClassName"),
        *selectors_errors(wanted.get("selectors"), f"{path}.selectors"),
        *_mode_errors(wanted, path),
        *device_tolerations_errors(wanted, path),
    ]


def _mode_errors(wanted: Part, path: str) -> list[FieldError]:
    mode, count = wanted.get("allocationMode") or "", wanted.get("count") or 0
    if mode == "All":
        text = "must not be specified when allocationMode is 'All'"
        return [invalid(f"{path}.count", count, text)] if count else []
    if mode == "ExactCount":
        return [invalid(f"{path}.count", count, "must be greater than zero")] if count <= 0 else []
    return [not_supported(f"{path}.allocationMode", JsonText(mode), _MODES)]


def _constraint_errors(constraint: Part, path: str, names: RequestNames) -> list[FieldError]:
    """One that names both attributes is checked by the first. The text for none is upstream's."""
    errors = request_refs_errors(constraint, path, names)
    for member in ("matchAttribute", "distinctAttribute"):
        if (attribute := constraint.get(member)) is not None:
            return [*errors, *fully_qualified_name_errors(attribute, f"{path}.{member}")]
    text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*errors, required(path, text)]
