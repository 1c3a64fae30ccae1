"""Checks that upstream declares with its types and makes after all others.

They are made on the object as the version of the request shows it, so places are those of that version. What a check
of `declared_types` finds takes the place of what another check found wrong with the same member in the same way; the
rest is told as well. On an update members that are as they were are not looked at.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from doorman.api.machinery.conversion import CONVERSIONS, from_stored
from doorman.base.errors import FieldError, duplicate, invalid, required, too_many
from doorman.base.json_types import Document, Json
from doorman.validation.context import Context, Validator
from doorman.validation.faults import Part
from doorman.validation.resource.declared.declared_formats import FormatCheck

_FLAT_REQUEST: Final = re.compile(
    r"(spec\.devices\.requests\[\d+\])\."
    r"(?=(?:deviceClassName|selectors|allocationMode|count|adminAccess|tolerations|derivedAttributes)\b)"
)
_BASIC_DEVICE: Final = re.compile(r"(spec\.devices\[\d+\])\.basic\.")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """What is declared of one member of a type. A member that is not there is looked at only when it is required."""

    name: str
    required: bool = False
    is_pointer: bool = False
    """Whether an empty value is a value all the same."""
    items_max: int = -1
    unique: tuple[str, ...] | None = None
    """Members by which no two elements may be alike; none: the elements themselves."""
    immutable: bool = False
    set_once: bool = False
    """It may be set and cleared, but not changed."""
    checks: tuple[FormatCheck, ...] = ()
    of: str = ""
    """The type of the member, of its elements or of its values."""
    shape: Literal["struct", "pointer", "list", "map"] = "struct"
    """How it is of that type. A struct is there even if nobody wrote it."""

    @property
    def may_be_absent(self) -> bool:
        """Whether nothing is to be said of it when it is not there and was not."""
        return not (self.required or (self.of and self.shape == "struct"))


class DeclaredType(msgspec.Struct, frozen=True, kw_only=True):
    members: tuple[Member, ...] = ()
    union: tuple[str, ...] = ()
    """Members of which exactly one is there."""
    always: frozenset[str] = frozenset()
    """Members that are looked at also when they are not there."""

    def __post_init__(self) -> None:
        always = frozenset(member.name for member in self.members if not member.may_be_absent)
        msgspec.structs.force_setattr(self, "always", always)


Types = Mapping[str, DeclaredType]


def type_errors(types: Types, type_name: str, new: Part, old: Part | None, path: str) -> list[FieldError]:
    """`old` is None when there is nothing to compare with."""
    declared = types[type_name]
    errors = _union_errors(declared.union, new, old, path) if declared.union else []
    always = declared.always
    for member in declared.members:
        name = member.name
        if name not in new and name not in always and (old is None or name not in old):
            continue
        value, was = _value_of(member, new), _value_of(member, old) if old is not None else None
        if old is None or value != was:
            at = f"{path}.{name}" if path else name
            errors.extend(_member_errors(types, member, value, was, at, is_update=old is not None))
    return errors


def _value_of(member: Member, part: Part) -> Json:
    """None when there is none."""
    value = part.get(member.name)
    if member.of and member.shape == "struct":
        return value or {}
    if member.is_pointer or member.shape == "pointer" or isinstance(value, bool | int):
        return value
    return value or None


def _member_errors(
    types: Types, member: Member, value: Json, was: Json, path: str, *, is_update: bool
) -> list[FieldError]:
    if member.immutable and is_update:
        return [invalid(path, None, "field is immutable")]
    if value is None:
        return [required(path)] if member.required else []
    if member.set_once and is_update and was is not None:
        return [invalid(path, None, "field cannot be modified once set")]
    if 0 <= member.items_max < len(value):
        return [too_many(path, len(value), member.items_max)]
    errors = [error for check in member.checks for error in check(value, path)]
    if member.unique is not None:
        errors.extend(_repeated_errors(value, member.unique, path))
    return [*errors, *_nested_errors(types, member, value, was, path)] if member.of else errors


def _nested_errors(types: Types, member: Member, value: Json, was: Json, path: str) -> list[FieldError]:
    if member.shape in ("struct", "pointer"):
        return type_errors(types, member.of, value, was, path)
    errors: list[FieldError] = []
    if member.shape == "map":
        before = was if isinstance(was, Mapping) else {}
        for key, item in sorted(value.items()):
            if item != before.get(key):
                errors.extend(type_errors(types, member.of, item, before.get(key), f"{path}[{key}]"))
        return errors
    former = _by_key(was, member.unique) if member.unique else {}
    for index, item in enumerate(value):
        old = former.get(_key_of(item, member.unique)) if member.unique else None
        if old is None or old != item:
            errors.extend(type_errors(types, member.of, item, old, f"{path}[{index}]"))
    return errors


def _repeated_errors(items: Sequence[Json], key: tuple[str, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: list[Json] = []
    for index, item in enumerate(items):
        found = _key_of(item, key)
        if found in seen:
            errors.append(duplicate(f"{path}[{index}]", item))
        seen.append(found)
    return errors


def _key_of(item: Json, key: tuple[str, ...]) -> Json:
    return tuple(item.get(name) for name in key) if key else item


def _by_key(items: Json, key: tuple[str, ...]) -> dict[Json, Json]:
    return {_key_of(item, key): item for item in items or ()}


def _union_errors(union: tuple[str, ...], new: Part, old: Part | None, path: str) -> list[FieldError]:
    given = [name for name in union if name in new]
    if old is not None and given == [name for name in union if name in old]:
        return []
    every = ", ".join(f"`{name}`" for name in union)
    if not given:
        return [invalid(path, "", f"must specify one of: {every}")]
    if len(given) > 1:
        return [invalid(path, "{" + ", ".join(given) + "}", f"must specify exactly one of: {every}")]
    return []


def merged_errors(found: Sequence[FieldError], declared: Sequence[FieldError]) -> list[FieldError]:
    """What was found without what is declared as well, then what is declared."""
    if not declared:
        return list(found)
    told = {(error.type, _stored_path(error.field)) for error in declared}
    return [*(error for error in found if (error.type, error.field) not in told), *declared]


def _stored_path(path: str) -> str:
    """The place of the same member in the stored form.

    >>> _stored_path("spec.devices.requests[0].count"), _stored_path("spec.devices[0].basic.taints")
    ('spec.devices.requests[0].exactly.count', 'spec.devices[0].taints')
    """
    return _BASIC_DEVICE.sub(r"\1.", _FLAT_REQUEST.sub(r"\1.exactly.", path))


def with_declared(kind: str, storage: str, types_of: Callable[[str], Types], checks: Validator) -> Validator:
    """A kind's own checks, and those of its declaration. `types_of` gives the declared types of a version."""

    def create(doc: Document, context: Context) -> list[FieldError]:
        version = _version(context)
        shown = _shown(storage, version, doc)
        return merged_errors(checks.create(doc, context), type_errors(types_of(version), kind, shown, None, ""))

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        version = _version(context)
        shown, before = _shown(storage, version, new), _shown(storage, version, old)
        declared = type_errors(types_of(version), kind, shown, before, "")
        return merged_errors(checks.update(new, old, context), declared)

    return Validator(create=create, update=update)


def _version(context: Context) -> str:
    return context.group_version.rpartition("/")[2] or "v1"


def _shown(storage: str, version: str, doc: Document) -> Document:
    name = f"{storage}/{version}"
    return from_stored(name if name in CONVERSIONS else "", doc)
