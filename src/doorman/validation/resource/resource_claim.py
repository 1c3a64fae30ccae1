"""Resource claims and their templates: what is asked for never changes."""

from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part
from doorman.validation.metadata import (
    IMMUTABLE,
    annotation_errors,
    label_errors,
    validate_metadata,
)
from doorman.validation.resource.claim_status import claim_status_errors
from doorman.validation.resource.declared.declared_rules import with_declared
from doorman.validation.resource.declared.declared_types import types_of
from doorman.validation.resource.devices.device_request import claim_spec_errors, request_names
from doorman.validation.resource.metadata_updates import update_metadata_errors

_OTHER_METADATA: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip
"""What the metadata of a template cannot say."""


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *claim_spec_errors(doc.get("spec") or {}, "spec")]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    if not context.subresource:
        return distinct([*update_metadata_errors(new, old), *validate_metadata(new), *_changed_errors(new, old)])
    names = request_names((new.get("spec") or {}).get("devices") or {})
    is_deleted = bool(new["metadata"].get("deletionTimestamp"))
    after, before = new.get("status") or {}, old.get("status") or {}
    return [*update_metadata_errors(new, old), *claim_status_errors(after, before, names, is_deleted=is_deleted)]


def _create_template(doc: Document, _context: Context) -> list[FieldError]:
    spec = doc.get("spec") or {}
    return [
        *validate_metadata(doc),
        *_template_metadata_errors(spec.get("metadata") or {}),
        *claim_spec_errors(spec.get("spec") or {}, "spec.spec"),
    ]


def _update_template(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = [*update_metadata_errors(new, old), *_create_template(new, context)]
    return distinct([*errors, *_changed_errors(new, old)])


def _changed_errors(new: Document, old: Document) -> list[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    return [invalid("spec", after, IMMUTABLE)] if after != before else []


def _template_metadata_errors(metadata: Part) -> list[FieldError]:
    """Labels and annotations, and nothing else. Members are told by their names in Go, but for the first letter."""
    return [
        *annotation_errors(metadata.get("annotations") or {}, "spec.metadata.annotations"),
        *label_errors(metadata.get("labels") or {}, "spec.metadata.labels"),
        *(
            forbidden(f"spec.metadata.{'uID' if name == 'uid' else name}", "cannot be set")
            for name in _OTHER_METADATA
            if metadata.get(name)
        ),
    ]


RESOURCE_CLAIM: Final = with_declared(
    "ResourceClaim", "resourceclaims.resource.k8s.io", types_of, Validator(create=_create, update=_update)
)
RESOURCE_CLAIM_TEMPLATE: Final = with_declared(
    "ResourceClaimTemplate",
    "resourceclaimtemplates.resource.k8s.io",
    types_of,
    Validator(create=_create_template, update=_update_template),
)
