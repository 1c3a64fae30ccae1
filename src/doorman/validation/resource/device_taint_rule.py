"""Rules that taint devices by driver, pool and name."""

from typing import Final

from doorman.base.errors import FieldError, too_many
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator
from doorman.validation.faults import Part
from doorman.validation.metadata import validate_metadata
from doorman.validation.resource.declared.declared_rules import with_declared
from doorman.validation.resource.declared.declared_types import types_of
from doorman.validation.resource.devices.device_names import dns_label_errors, driver_errors, pool_name_errors
from doorman.validation.resource.devices.device_taint import device_taint_errors
from doorman.validation.resource.metadata_updates import update_metadata_errors
from doorman.validation.resource.status_conditions import condition_errors

CONDITIONS_MAX: Final = 8


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_spec_errors(doc.get("spec") or {}, None)]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = update_metadata_errors(new, old)
    if not context.subresource:
        return [*errors, *_spec_errors(new.get("spec") or {}, old.get("spec") or {})]
    conditions = (new.get("status") or {}).get("conditions") or ()
    errors.extend(condition_errors(conditions, "status.conditions"))
    if len(conditions) > CONDITIONS_MAX:
        errors.append(too_many("status.conditions", len(conditions), CONDITIONS_MAX))
    return errors


def _spec_errors(spec: Part, old: Part | None) -> list[FieldError]:
    errors: list[FieldError] = []
    selector = spec.get("deviceSelector") or {}
    for member, check in (("driver", driver_errors), ("pool", pool_name_errors), ("device", dns_label_errors)):
        if member in selector:
            errors.extend(check(selector[member], f"spec.deviceSelector.{member}"))
    before = (old.get("taint") or {}) if old is not None else None
    return [*errors, *device_taint_errors(spec.get("taint") or {}, "spec.taint", before)]


DEVICE_TAINT_RULE: Final = with_declared(
    "DeviceTaintRule", "devicetaintrules.resource.k8s.io", types_of, Validator(create=_create, update=_update)
)
