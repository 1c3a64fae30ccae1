"""Resource claims and their templates: what is asked for, and that it stays so."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, Json, duplicate, forbidden, invalid, not_supported, required, too_many
from doorman.semantics.name_syntax import dns_label_faults, label_value_faults, qualified_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.device import EFFECTS, cel_selector_errors
from doorman.validation.metadata import (
    IMMUTABLE,
    annotation_errors,
    label_errors,
    validate_metadata,
    validate_metadata_update,
)

REQUESTS_MAX: Final = 32
TOLERATIONS_MAX: Final = 16
ALTERNATIVES_MAX: Final = 8
RESERVATIONS_MAX: Final = 256
_OPERATORS: Final = ("Equal", "Exists")
_MODES: Final = ("All", "ExactCount")


def device_toleration_errors(tolerations: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    if len(tolerations) > TOLERATIONS_MAX:
        return [too_many(path, len(tolerations), TOLERATIONS_MAX)]
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        at = f"{path}[{index}]"
        key, value = toleration.get("key", ""), toleration.get("value", "")
        operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
        if key:
            errors.extend(invalid(f"{at}.key", key, fault) for fault in qualified_name_faults(key))
        if operator == "Exists":
            if value:
                errors.append(invalid(f"{at}.value", value, "must be empty for operator `Exists`"))
        elif operator == "Equal":
            errors.extend(invalid(f"{at}.value", value, fault) for fault in label_value_faults(value))
        elif operator:
            errors.append(not_supported(f"{at}.operator", Json(operator), _OPERATORS))
        else:
            errors.append(required(f"{at}.operator"))
        if effect and effect not in EFFECTS:
            errors.append(not_supported(f"{at}.effect", Json(effect), EFFECTS))
    return errors


def claim_spec_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    devices = spec.get("devices") or {}
    requests = devices.get("requests") or ()
    if len(requests) > REQUESTS_MAX:
        return [too_many(f"{path}.devices.requests", len(requests), REQUESTS_MAX)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, request in enumerate(requests):
        at = f"{path}.devices.requests[{index}]"
        errors.extend(_request_errors(request, at))
        name = request.get("name", "")
        if name in names:
            errors.append(duplicate(at, name))
        names.add(name)
    return errors


def _request_errors(request: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = _name_errors(request.get("name", ""), f"{path}.name")
    given = [field for field in ("exactly", "firstAvailable") if field in request]
    if not given:
        errors.append(required(path, "exactly one of `exactly` or `firstAvailable` is required"))
    elif len(given) > 1:
        text = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        errors.append(invalid(path, request.get("name", ""), text))
    elif given == ["exactly"]:
        errors.extend(_wanted_errors(request["exactly"], f"{path}.exactly"))
    else:
        alternatives = request["firstAvailable"]
        if len(alternatives) > ALTERNATIVES_MAX:
            return [*errors, too_many(f"{path}.firstAvailable", len(alternatives), ALTERNATIVES_MAX)]
        for index, wanted in enumerate(alternatives):
            at = f"{path}.firstAvailable[{index}]"
            errors.extend(_name_errors(wanted.get("name", ""), f"{at}.name"))
            errors.extend(_wanted_errors(wanted, at))
    return errors


def _name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    return [invalid(path, name, fault) for fault in dns_label_faults(name)]


def _wanted_errors(wanted: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = wanted.get("deviceClassName", "")
    if not name:
        errors.append(required(f"{path}.deviceClassName"))
    else:
        errors.extend(invalid(f"{path}.deviceClassName", name, fault) for fault in subdomain_faults(name))
    errors.extend(cel_selector_errors(wanted.get("selectors") or (), f"{path}.selectors"))
    mode, count = wanted.get("allocationMode", ""), wanted.get("count", 0)
    if mode == "All":
        if count:
            text = "must not be specified when allocationMode is 'All'"
            errors.append(invalid(f"{path}.count", count, text))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(not_supported(f"{path}.allocationMode", Json(mode), _MODES))
    errors.extend(device_toleration_errors(wanted.get("tolerations") or (), f"{path}.tolerations"))
    return errors


def _claim_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *claim_spec_errors(doc.get("spec") or {}, "spec")]


def _claim_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "status":
        errors.extend(_status_errors(new.get("status") or {}, old.get("status") or {}))
    elif new.get("spec") != old.get("spec"):
        errors.append(invalid("spec", new.get("spec"), IMMUTABLE))
    return errors


def _status_errors(status: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    reserved, allocation = status.get("reservedFor") or (), status.get("allocation")
    if len(reserved) > RESERVATIONS_MAX:
        errors.append(too_many("status.reservedFor", len(reserved), RESERVATIONS_MAX))
    uids: set[str] = set()
    for index, consumer in enumerate(reserved):
        at = f"status.reservedFor[{index}]"
        errors.extend(required(f"{at}.{field}") for field in ("resource", "name", "uid") if not consumer.get(field))
        if consumer.get("uid", "") in uids:
            errors.append(duplicate(f"{at}.uid", consumer.get("uid", "")))
        uids.add(consumer.get("uid", ""))
    if reserved and allocation is None:
        errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    if allocation is not None and old.get("allocation") is not None and allocation != old["allocation"]:
        errors.append(invalid("status.allocation", allocation, IMMUTABLE))
    return errors


def _template_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    spec = doc.get("spec") or {}
    metadata = spec.get("metadata") or {}
    errors.extend(label_errors(metadata.get("labels") or {}, "spec.metadata.labels"))
    errors.extend(annotation_errors(metadata.get("annotations") or {}, "spec.metadata.annotations"))
    errors.extend(claim_spec_errors(spec.get("spec") or {}, "spec.spec"))
    return errors


def _template_update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if new.get("spec") != old.get("spec"):
        errors.append(invalid("spec", new.get("spec"), IMMUTABLE))
    return distinct(errors)


RESOURCE_CLAIM: Final = Validator(create=_claim_create, update=_claim_update)
RESOURCE_CLAIM_TEMPLATE: Final = Validator(create=_template_create, update=_template_update)
