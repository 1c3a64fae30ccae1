"""Requests for a report on resource pools. Their spec never changes, and their status is written once."""

from typing import Final

from doorman.base.errors import FieldError, invalid
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator
from doorman.validation.metadata import IMMUTABLE, validate_metadata
from doorman.validation.resource.declared.declared_rules import with_declared
from doorman.validation.resource.declared.declared_types import types_of
from doorman.validation.resource.metadata_updates import update_metadata_errors
from doorman.validation.resource.status_conditions import condition_errors


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return validate_metadata(doc)


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = update_metadata_errors(new, old)
    if not context.subresource:
        return errors
    status, before = new.get("status"), old.get("status")
    if before is not None:
        return errors if status == before else [*errors, invalid("status", status, IMMUTABLE)]
    return [*errors, *condition_errors((status or {}).get("conditions") or (), "status.conditions")]


RESOURCE_POOL_STATUS_REQUEST: Final = with_declared(
    "ResourcePoolStatusRequest",
    "resourcepoolstatusrequests.resource.k8s.io",
    types_of,
    Validator(create=_create, update=_update),
)
