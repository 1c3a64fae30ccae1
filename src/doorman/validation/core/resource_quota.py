"""ResourceQuotas: which resources are counted, and of which objects."""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.api.machinery.quantity import int64_value, parse_quantity
from doorman.base.errors import FieldError, JsonText, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.pods.resource_names import is_extended_resource
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update
from doorman.validation.resources import (
    COUNTED_RESOURCES,
    NEGATIVE,
    NOT_WHOLE,
    QUOTA_RESOURCES,
    is_quota_huge_pages,
    resource_name_errors,
)

_COMPUTE: Final = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""Which resources can be counted of the objects in a scope."""

_WITHOUT_VALUES: Final = frozenset(_SCOPES) - {"PriorityClass", "VolumeAttributesClass"}
_EXCLUSIVE: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_spec_errors(doc.get("spec") or {})]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        status = new.get("status") or {}
        for member in ("hard", "used"):
            errors += _amounts_errors(status.get(member) or {}, f"status.{member}")
        return distinct(errors)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    errors += [*validate_metadata(new), *_spec_errors(after)]
    if set(after.get("scopes") or ()) != set(before.get("scopes") or ()):
        errors.append(invalid("spec.scopes", after.get("scopes"), IMMUTABLE))
    return distinct(errors)


def _spec_errors(spec: Part) -> list[FieldError]:
    hard = spec.get("hard") or {}
    errors = _amounts_errors(hard, "spec.hard")
    scopes = spec.get("scopes") or ()
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        errors += _applied_errors(hard, scope, "spec.scopes", scopes)
    errors += _conflict_errors(scopes, "spec.scopes", scopes)
    if (selector := spec.get("scopeSelector")) is not None:
        errors += _selector_errors(selector, hard, scopes)
    return errors


def _selector_errors(selector: Part, hard: Part, scopes: Sequence[str]) -> list[FieldError]:
    path, errors = "spec.scopeSelector.matchExpressions", []
    named: list[str] = []
    for wanted in selector.get("matchExpressions") or ():
        scope, operator = wanted.get("scopeName") or "", wanted.get("operator") or ""
        values = wanted.get("values") or ()
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        errors += _applied_errors(hard, scope, path, selector)
        if scope in _WITHOUT_VALUES and operator != "Exists":
            errors.append(invalid(f"{path}.operator", operator, _MUST_EXIST))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{path}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{path}.values", values, text))
        else:
            errors.append(invalid(f"{path}.operator", JsonText(operator), "not a valid selector operator"))
        named.append(scope)
    return [*errors, *_conflict_errors(named, path, scopes or None)]


def _applied_errors(hard: Part, scope: str, path: str, shown: object) -> list[FieldError]:
    covered = _SCOPES.get(scope)
    if covered is None:
        return []
    wrong = [name for name in sorted(hard) if _is_standard(name) and name not in covered]
    return [invalid(path, shown, "unsupported scope applied to resource") for _ in wrong]


def _conflict_errors(scopes: Sequence[str], path: str, shown: object) -> list[FieldError]:
    return [invalid(path, shown, "conflicting scopes") for pair in _EXCLUSIVE if pair <= set(scopes)]


def _amounts_errors(amounts: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in amounts.items():
        at = f"{path}[{name}]"
        errors += resource_name_errors(name, at)
        if "/" not in name and not _is_standard(name):
            errors.append(invalid(at, name, "must be a standard resource for quota"))
        if parse_quantity(amount) < 0:
            errors.append(invalid(at, amount, NEGATIVE))
        if (name in COUNTED_RESOURCES or is_extended_resource(name)) and int64_value(amount, -3) % 1000:
            errors.append(invalid(at, amount, NOT_WHOLE))
    return errors


def _is_standard(name: str) -> bool:
    return name in QUOTA_RESOURCES or is_quota_huge_pages(name)


RESOURCE_QUOTA: Final = Validator(create=_create, update=_update)
