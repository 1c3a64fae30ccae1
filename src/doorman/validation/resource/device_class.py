"""Device classes: which devices belong to one, and how their drivers are configured."""

from typing import Final

from doorman.base.errors import FieldError
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part
from doorman.validation.metadata import validate_metadata
from doorman.validation.resource.declared.declared_rules import with_declared
from doorman.validation.resource.declared.declared_types import types_of
from doorman.validation.resource.devices.device_configuration import configuration_errors
from doorman.validation.resource.devices.device_request import CONFIGURATIONS_MAX
from doorman.validation.resource.devices.device_selectors import selectors_errors
from doorman.validation.resource.list_checks import list_errors
from doorman.validation.resource.metadata_updates import update_metadata_errors


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*_metadata_errors(doc), *_spec_errors(doc.get("spec") or {}, None)]


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = distinct([*update_metadata_errors(new, old), *_metadata_errors(new)])
    return [*errors, *_spec_errors(new.get("spec") or {}, old.get("spec") or {})]


def _metadata_errors(doc: Document) -> list[FieldError]:
    """What a name is generated from is not checked: the name is."""
    return [error for error in validate_metadata(doc) if error.field != "metadata.generateName"]


def _spec_errors(spec: Part, old: Part | None) -> list[FieldError]:
    """Selectors and configurations that are exactly as they were are not checked again."""
    is_same = {
        member: old is not None and (spec.get(member) or []) == (old.get(member) or [])
        for member in ("selectors", "config")
    }

    def configuration(one: Part, path: str) -> list[FieldError]:
        return configuration_errors(one, path, is_stored=is_same["config"])

    return [
        *selectors_errors(spec.get("selectors"), "spec.selectors", is_stored=is_same["selectors"]),
        *list_errors(spec.get("config"), "spec.config", CONFIGURATIONS_MAX, configuration),
    ]


DEVICE_CLASS: Final = with_declared(
    "DeviceClass", "deviceclasses.resource.k8s.io", types_of, Validator(create=_create, update=_update)
)
