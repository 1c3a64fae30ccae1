"""Metadata of an update, as every kind of the API has it checked first: whatever the kind asks of names itself."""

from doorman.base.errors import FieldError
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import path_segment_faults
from doorman.validation.context import distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update


def update_metadata_errors(new: Document, old: Document) -> list[FieldError]:
    return distinct([*validate_metadata(new, path_segment_faults), *validate_metadata_update(new, old)])
