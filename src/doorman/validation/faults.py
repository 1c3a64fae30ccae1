"""Small steps that validators of all kinds are made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import path_segment_faults, subdomain_faults
from doorman.validation.context import Context, CreateValidator, UpdateValidator, Validator, distinct
from doorman.validation.metadata import IMMUTABLE, NameFaults, validate_metadata, validate_metadata_update

Part = Mapping[str, Any]
"""A part of a document."""
SpecErrors = Callable[[Document], list[FieldError]]
UpdateErrors = Callable[[Document, Document], list[FieldError]]

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
POSITIVE: Final = "must be greater than zero"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"


def badly(path: str, value: object, faults: Iterable[str]) -> list[FieldError]:
    """One error a fault."""
    return [invalid(path, value, fault) for fault in faults]


def named(part: Part, name: str, path: str, faults: NameFaults, missing: str = "") -> list[FieldError]:
    """A member that must be there, and well formed."""
    value = part.get(name) or ""
    return badly(f"{path}.{name}", value, faults(value)) if value else [required(f"{path}.{name}", missing)]


def maybe(part: Part, name: str, path: str, faults: NameFaults) -> list[FieldError]:
    """A member that is well formed when it is there and not empty."""
    value = part.get(name)
    return badly(f"{path}.{name}", value, faults(value)) if value else []


def needed(part: Part, name: str, path: str, missing: str = "") -> list[FieldError]:
    return [] if part.get(name) else [required(f"{path}.{name}", missing)]


def one_of(part: Part, name: str, path: str, allowed: Sequence[str], *, missing: str | None = None) -> list[FieldError]:
    """An enumeration. `missing`: what is said when it is empty; None: that it is not one of the values."""
    value = part.get(name) or ""
    if not value and missing is not None:
        return [required(f"{path}.{name}", missing)]
    return [] if value in allowed else [not_supported(f"{path}.{name}", JsonText(value), allowed)]


def not_negative(part: Part, name: str, path: str) -> list[FieldError]:
    value = part.get(name)
    return [invalid(f"{path}.{name}", value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def port_number(value: int, path: str) -> list[FieldError]:
    return [] if 1 <= value <= 65535 else [invalid(path, value, PORT_RANGE)]


def fixed(new: Part, old: Part, name: str, path: str, text: str = IMMUTABLE) -> list[FieldError]:
    """A member that never changes."""
    at = f"{path}.{name}" if path else name
    return [invalid(at, new.get(name), text)] if (new.get(name) or None) != (old.get(name) or None) else []


def unset(part: Part, names: Iterable[str], path: str, text: str) -> list[FieldError]:
    return [forbidden(f"{path}.{name}", text) for name in names if part.get(name) is not None]


def each(items: Sequence[Any] | None, path: str, check: Callable[[Any, str], list[FieldError]]) -> list[FieldError]:
    """What a check finds in the elements of a list, each with its place."""
    return [error for index, item in enumerate(items or ()) for error in check(item, f"{path}[{index}]")]


def wildcard_subdomain_faults(text: str) -> list[str]:
    faults = [] if len(text.encode()) <= 253 else ["must be no more than 253 characters"]
    if not text.startswith("*.") or any("regex" in fault for fault in subdomain_faults(text[2:])):
        faults.append(_WILDCARD_FAULT)
    return faults


_WILDCARD_FAULT: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    r"regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def validator(
    spec: SpecErrors,
    *,
    names: NameFaults = subdomain_faults,
    change: UpdateErrors | None = None,
    status: UpdateErrors | None = None,
    again: bool = True,
) -> Validator:
    """The usual shape: metadata and spec on create; on update also what may not change.

    `again`: whether an update makes the checks of a create, too; `status`: what a write of the status is checked for.
    """

    def create(doc: Document, _context: Context) -> list[FieldError]:
        return [*validate_metadata(doc, names), *spec(doc)]

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        errors = validate_metadata_update(new, old)
        if context.subresource:
            return distinct([*errors, *(status(new, old) if status is not None else ())])
        errors.extend(change(new, old) if change is not None else ())
        errors.extend([*validate_metadata(new, names), *spec(new)] if again else ())
        return distinct(errors)

    return Validator(create=create, update=update)


def updating(create: CreateValidator, change: UpdateValidator) -> Validator:
    return Validator(create=create, update=change)


SEGMENT: Final[NameFaults] = path_segment_faults
