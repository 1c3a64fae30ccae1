"""LimitRanges: what a container, a pod or a claim may ask for."""

from typing import Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.base.errors import FieldError, duplicate, forbidden, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.semantics.pods.resource_names import is_overcommit_allowed
from doorman.validation.faults import Part, badly, validator
from doorman.validation.resources import container_resource_name_errors, resource_name_errors

_TYPES: Final = ("Container", "PersistentVolumeClaim", "Pod")
_FLOAT_DIGITS: Final = 6


def _limit_range_errors(doc: Document) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, limit in enumerate((doc.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type") or ""
        errors += _type_errors(kind, f"{path}.type")
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        errors += _limit_errors(limit, kind, path)
    return errors


def _type_errors(kind: str, path: str) -> list[FieldError]:
    if faults := badly(path, kind, qualified_name_faults(kind)):
        return faults
    if "/" not in kind and kind not in _TYPES:
        return [invalid(path, kind, "must be a standard limit type or fully qualified")]
    return []


def _limit_errors(limit: Part, kind: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    check = container_resource_name_errors if kind in ("Pod", "Container") else resource_name_errors
    for member in ("max", "min"):
        for name in limit.get(member) or {}:
            errors += check(name, f"{path}.{member}[{name}]")
    for member in ("default", "defaultRequest"):
        if kind == "Pod" and limit.get(member):
            errors.append(forbidden(f"{path}.{member}", "may not be specified when `type` is 'Pod'"))
        elif kind != "Pod":
            for name in limit.get(member) or {}:
                errors += check(name, f"{path}.{member}[{name}]")
    bounds = {**(limit.get("min") or {}), **(limit.get("max") or {})}
    if kind == "PersistentVolumeClaim" and "storage" not in bounds:
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", text))
    for name in limit.get("maxLimitRequestRatio") or {}:
        errors += check(name, f"{path}.maxLimitRequestRatio[{name}]")
    names = {**bounds, **(limit.get("maxLimitRequestRatio") or {})}
    if kind != "Pod":
        names |= {**(limit.get("default") or {}), **(limit.get("defaultRequest") or {})}
    for name in names:
        errors += _amount_errors(limit, name, path, is_pod=kind == "Pod")
    return errors


def _amount_errors(limit: Part, name: str, path: str, *, is_pod: bool) -> list[FieldError]:
    """Least, asked for by default, given by default and most stand in this order."""
    least, most = ((limit.get(member) or {}).get(name) for member in ("min", "max"))
    given, asked = (None if is_pod else (limit.get(member) or {}).get(name) for member in ("default", "defaultRequest"))
    errors: list[FieldError] = []
    for member, low, low_words, high, high_words, shown in (
        ("min", least, "min value", most, "max value", least),
        ("defaultRequest", least, "min value", asked, "default request value", asked),
        ("defaultRequest", asked, "default request value", most, "max value", asked),
        ("defaultRequest", asked, "default request value", given, "default limit value", asked),
        ("default", least, "min value", given, "default value", least),
        ("default", given, "default value", most, "max value", most),
    ):
        if low is not None and high is not None and parse_quantity(low) > parse_quantity(high):
            text = f"{low_words} {low} is greater than {high_words} {high}"
            errors.append(invalid(f"{path}.{member}[{name}]", shown, text))
    errors += _ratio_errors(limit, name, path)
    is_exact = not is_overcommit_allowed(name) and given is not None and asked is not None
    if is_exact and parse_quantity(given) != parse_quantity(asked):
        text = f"default value {given} must equal to defaultRequest value {asked} in {name}"
        errors.append(invalid(f"{path}.defaultRequest[{name}]", asked, text))
    return errors


def _ratio_errors(limit: Part, name: str, path: str) -> list[FieldError]:
    ratio = (limit.get("maxLimitRequestRatio") or {}).get(name)
    if ratio is None:
        return []
    at = f"{path}.maxLimitRequestRatio[{name}]"
    errors = [invalid(at, ratio, f"ratio {ratio} is less than 1")] if parse_quantity(ratio) < 1 else []
    least, most = ((limit.get(member) or {}).get(name) for member in ("min", "max"))
    if least is None or most is None:
        return errors
    if not parse_quantity(least):
        return errors
    bound = parse_quantity(most) / parse_quantity(least)
    if parse_quantity(ratio) > bound:
        text = f"ratio {ratio} is greater than max/min = {float(bound):.{_FLOAT_DIGITS}f}"
        errors.append(invalid(at, ratio, text))
    return errors


LIMIT_RANGE: Final = validator(_limit_range_errors)
