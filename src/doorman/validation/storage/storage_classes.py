"""StorageClasses and VolumeAttributesClasses, and how much there is of one (CSIStorageCapacity)."""

from typing import Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.base.errors import FieldError, JsonText, duplicate, forbidden, invalid, not_supported, required, too_long
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import qualified_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import NOT_NEGATIVE, Part, badly, fixed, validator
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.selectors import label_selector_errors

_PARAMETERS_MAX: Final = 512
_PARAMETERS_BYTES_MAX: Final = 256 * 1024
_FIXED: Final = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def _class_errors(doc: Document) -> list[FieldError]:
    errors = [*_provisioner_errors(doc, "provisioner"), *_parameter_errors(doc.get("parameters") or {})]
    policy, mode = doc.get("reclaimPolicy"), doc.get("volumeBindingMode")
    if policy and policy not in ("Delete", "Retain"):
        errors.append(not_supported("reclaimPolicy", JsonText(policy), ("Delete", "Retain")))
    if mode is None:
        errors.append(required("volumeBindingMode"))
    elif mode not in ("Immediate", "WaitForFirstConsumer"):
        errors.append(not_supported("volumeBindingMode", JsonText(mode), ("Immediate", "WaitForFirstConsumer")))
    seen: list[dict[str, frozenset[str]]] = []
    for index, term in enumerate(doc.get("allowedTopologies") or ()):
        found: dict[str, frozenset[str]] = {}
        errors += _term_errors(term, f"allowedTopologies[{index}].matchLabelExpressions", found)
        if found in seen or not found:
            errors.append(duplicate(f"allowedTopologies[{index}].matchLabelExpressions", ""))
        seen.append(found)
    return errors


def _term_errors(term: Part, path: str, found: dict[str, frozenset[str]]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, wanted in enumerate(term.get("matchLabelExpressions") or ()):
        at, key, values = f"{path}[{index}]", wanted.get("key") or "", wanted.get("values") or ()
        if not values:
            errors.append(required(f"{at}.values"))
        for number, value in enumerate(values):
            if value in values[:number]:
                errors.append(duplicate(f"{at}.values[{number}]", value))
        errors += badly(f"{at}.key", key, qualified_name_faults(key))
        if key in found:
            errors.append(duplicate(f"{at}.key", key))
        found[key] = frozenset(values)
    return errors


def _provisioner_errors(doc: Document, name: str) -> list[FieldError]:
    value = doc.get(name) or ""
    return badly(name, value.lower(), qualified_name_faults(value.lower())) if value else [required(name)]


def _parameter_errors(parameters: Part, *, may_be_empty: bool = True) -> list[FieldError]:
    if len(parameters) > _PARAMETERS_MAX:
        return [too_long("parameters", _PARAMETERS_MAX)]
    errors = [invalid("parameters", key, "field can not be empty.") for key in parameters if not key]
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > _PARAMETERS_BYTES_MAX:
        errors.append(too_long("parameters", _PARAMETERS_BYTES_MAX))
    if not may_be_empty and not parameters:
        errors.append(required("parameters", "must contain at least one key/value pair"))
    return errors


def _update_class(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(new), *_class_errors(new), *validate_metadata_update(new, old)]
    return distinct([*errors, *(error for name in _FIXED for error in fixed(new, old, name, ""))])


def _create_class(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_class_errors(doc)]


def _attributes_errors(doc: Document) -> list[FieldError]:
    return [
        *_provisioner_errors(doc, "driverName"),
        *_parameter_errors(doc.get("parameters") or {}, may_be_empty=False),
    ]


def _attributes_change(new: Document, old: Document) -> list[FieldError]:
    return [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if new.get(name) != old.get(name)
    ]


def _capacity_errors(doc: Document) -> list[FieldError]:
    errors = label_selector_errors(doc.get("nodeTopology"), "nodeTopology")
    name = doc.get("storageClassName") or ""
    errors += badly("storageClassName", name, subdomain_faults(name))
    amount = doc.get("capacity")
    if amount is not None and parse_quantity(amount) < 0:
        errors.append(invalid("capacity", amount, NOT_NEGATIVE))
    return errors


def _update_capacity(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(new), *_capacity_errors(new), *validate_metadata_update(new, old)]
    return distinct([*errors, *fixed(new, old, "nodeTopology", ""), *fixed(new, old, "storageClassName", "")])


def _create_capacity(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_capacity_errors(doc)]


STORAGE_CLASS: Final = Validator(create=_create_class, update=_update_class)
VOLUME_ATTRIBUTES_CLASS: Final = validator(_attributes_errors, change=_attributes_change)
CSI_STORAGE_CAPACITY: Final = Validator(create=_create_capacity, update=_update_capacity)
