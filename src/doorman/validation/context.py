"""What a validator is told besides the document, and the shape of a validator."""

from collections.abc import Callable, Iterable

import msgspec

from doorman.base.errors import FieldError
from doorman.base.json_types import Document


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """How a write came in."""

    comparison_operators: bool = True
    """Whether new tolerations may use `Gt` and `Lt`."""

    subresource: str = ""

    group_version: str = ""
    """The version of the API it was written through."""


CreateValidator = Callable[[Document, Context], list[FieldError]]
UpdateValidator = Callable[[Document, Document, Context], list[FieldError]]


class Validator(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind is checked. `create(doc, context)`; `update(new, old, context)`."""

    create: CreateValidator
    update: UpdateValidator


def distinct(errors: Iterable[FieldError]) -> list[FieldError]:
    """Each error once: updates look at some fields twice, and the API says so once, but of custom kinds."""
    return list(dict.fromkeys(errors))
