"""ControllerRevisions: what a workload was like once."""

from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import NOT_NEGATIVE, fixed
from doorman.validation.metadata import validate_metadata, validate_metadata_update


def _number_errors(doc: Document) -> list[FieldError]:
    number = doc.get("revision") or 0
    return [invalid("revision", number, NOT_NEGATIVE)] if number < 0 else []


def _create(doc: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(doc), *_number_errors(doc)]
    data = doc.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *validate_metadata(new), *_number_errors(new)]
    return distinct([*errors, *fixed(new, old, "data", "")])


CONTROLLER_REVISION: Final = Validator(create=_create, update=_update)
