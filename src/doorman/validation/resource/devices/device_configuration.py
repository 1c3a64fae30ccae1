"""What a driver is told about a device: parameters that only the driver understands."""

from typing import Any, Final

import msgspec

from doorman.api.raw_members import text_of
from doorman.base.errors import FieldError, invalid, required, too_long
from doorman.validation.faults import Part
from doorman.validation.resource.devices.device_names import driver_errors

PARAMETERS_BYTES_MAX: Final = 10 * 1024


def configuration_errors(config: Part, path: str, *, is_stored: bool = False) -> list[FieldError]:
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    errors = driver_errors(opaque.get("driver") or "", f"{path}.opaque.driver")
    parameters = opaque.get("parameters")
    return [*errors, *raw_errors(parameters, f"{path}.opaque.parameters", PARAMETERS_BYTES_MAX, is_stored=is_stored)]


def raw_errors(value: Any, path: str, bytes_max: int, *, is_stored: bool = False) -> list[FieldError]:  # JSON
    """An object of any shape. What is stored already may be longer than what is new."""
    if value is None:
        return [required(path)]
    length = len(text_of(value) if isinstance(value, dict) else msgspec.json.encode(value))
    if not is_stored and length > bytes_max:
        return [too_long(path, bytes_max)]
    return [] if isinstance(value, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]
