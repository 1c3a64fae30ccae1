"""Capacities of devices, and which amounts of them may be asked for when several claims share a device."""

from collections.abc import Sequence
from typing import Final

from doorman.api.machinery.quantity import canonical_quantity, parse_quantity, quantity_text, whole_value
from doorman.base.errors import FieldError, duplicate, forbidden, invalid, required, too_many
from doorman.validation.faults import Part

VALID_VALUES_MAX: Final = 10
_INT64_MAX: Final = 2**63 - 1
_BINARY_SUFFIX: Final = "i"


def capacity_errors(capacity: Part, path: str, *, is_shared: bool) -> list[FieldError]:
    """`is_shared`: whether the device may be allocated more than once."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return []
    at = f"{path}.requestPolicy"
    if not is_shared:
        return [forbidden(at, "allowMultipleAllocations must be true")]
    values, bounds = policy.get("validValues") or (), policy.get("validRange")
    if values and bounds is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(at, text)]
    most, default = capacity.get("value") or "0", policy.get("default")
    if values:
        if default is None:
            return [required(f"{at}.default", "required when validValues is defined")]
        return _values_errors(values, default, most, f"{at}.validValues")
    if bounds is not None:
        if default is None:
            return [required(f"{at}.default", "required when validRange is defined")]
        return _range_errors(bounds, default, most, f"{at}.validRange")
    return []


def _values_errors(values: Sequence[str], default: str, most: str, path: str) -> list[FieldError]:
    amounts, whole = [parse_quantity(value) for value in values], [whole_value(value) for value in values]
    errors = [
        invalid(f"{path}[{index}]", _shown(values[index]), "values must be sorted in ascending order")
        for index in range(1, len(values))
        if amounts[index - 1] > amounts[index]
    ]
    if len(values) > VALID_VALUES_MAX:
        errors.append(too_many(path, len(values), VALID_VALUES_MAX))
    else:
        errors.extend(
            invalid(f"{path}[{index}]", _shown(value), f"option is larger than capacity value: {_shown(most)}")
            for index, value in enumerate(values)
            if amounts[index] > parse_quantity(most)
        )
        errors.extend(
            duplicate(f"{path}[{index}]", str(amount)) for index, amount in enumerate(whole) if amount in whole[:index]
        )
    if parse_quantity(default) not in amounts or len(values) > VALID_VALUES_MAX:
        errors.append(invalid(path, _shown(default), "default value is not valid according to the requestPolicy"))
    return errors


def _range_errors(bounds: Part, default: str, most: str, path: str) -> list[FieldError]:
    least = bounds.get("min")
    if least is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    errors = _bound_errors(bounds, default, most, path)
    step = bounds.get("step")
    named = (("default", default), ("min", least), ("max", bounds.get("max")), ("step", step))
    given = [(name, text) for name, text in named if text is not None]
    if step is None:
        return errors
    if parse_quantity(step) <= 0:
        return [*errors, invalid(f"{path}.step", _shown(step), "must be greater than zero")]
    return [*errors, *_step_errors(given, step, least, most, path)]


def _bound_errors(bounds: Part, default: str, most: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    least, end = bounds["min"], bounds.get("max")
    low, wanted, size = parse_quantity(least), parse_quantity(default), parse_quantity(most)
    if low > size:
        errors.append(invalid(f"{path}.min", _shown(least), f"min is larger than capacity value: {_shown(most)}"))
    if wanted < low:
        errors.append(invalid(f"{path}.default", _shown(default), f"default is less than min: {_shown(least)}"))
    if end is None:
        return errors
    high = parse_quantity(end)
    if low > high:
        errors.append(invalid(f"{path}.max", _shown(least), f"min is larger than max: {_shown(end)}"))
    if high > size:
        errors.append(invalid(f"{path}.max", _shown(end), f"max is larger than capacity value: {_shown(most)}"))
    if wanted > high:
        errors.append(invalid(f"{path}.default", _shown(default), f"default is more than max: {_shown(end)}"))
    return errors


def _step_errors(given: Sequence[tuple[str, str]], step: str, least: str, most: str, path: str) -> list[FieldError]:
    """Default and maximum must be some steps away from the minimum. Parts of a unit count as a whole one."""
    errors: list[FieldError] = []
    reached = parse_quantity(least) + parse_quantity(step)
    if reached > parse_quantity(most):
        shown = quantity_text(reached, is_binary=least.endswith(_BINARY_SUFFIX))
        text = f"one step {shown} is larger than capacity value: {_shown(most)}"
        errors.append(invalid(f"{path}.step", _shown(step), text))
    unsafe = [error for name, text in given for error in _int64_errors(text, f"{path}.{name}")]
    if unsafe:
        return [*errors, *unsafe]
    for name, text in given:
        if name in ("default", "max") and (whole_value(text) - whole_value(least)) % whole_value(step):
            fault = f"value is not a multiple of a given step ({_shown(step)}) from ({_shown(least)})"
            errors.append(invalid(f"{path}.step", _shown(text), fault))
    return errors


def _int64_errors(text: str, path: str) -> list[FieldError]:
    if parse_quantity(text) < 0:
        return [invalid(path, _shown(text), "must be greater than or equal to 0")]
    if parse_quantity(text) > _INT64_MAX:
        return [invalid(path, _shown(text), f"must not be larger than {_INT64_MAX}")]
    return []


def _shown(text: str) -> str:
    return canonical_quantity(text)
