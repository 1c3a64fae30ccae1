"""What a custom object has where its scale subresource looks: numbers that can be numbers of replicas."""

from typing import Final

from doorman.api.kinds import ScalePaths
from doorman.base.errors import FieldError, invalid
from doorman.base.go_format import go_value
from doorman.base.json_types import Document, Json

REPLICAS_MAX: Final = 2**31 - 1
_GO_TYPES: Final = {
    str: "string", bool: "bool", int: "int64", float: "float64", dict: "map[string]interface {}",
    list: "[]interface {}", type(None): "<nil>",
}  # fmt: skip


def scale_errors(doc: Document, paths: ScalePaths | None, *, is_status: bool) -> list[FieldError]:
    """`is_status`: nothing but the status was written."""
    if paths is None:
        return []
    errors = [] if is_status else _replicas_errors(doc, paths.replicas)
    errors += _replicas_errors(doc, paths.status_replicas)
    if paths.selector:
        _, fault = _found(doc, paths.selector, str)
        errors += [invalid(_shown(paths.selector), "", fault)] if fault else []
    return errors


def _replicas_errors(doc: Document, path: tuple[str, ...]) -> list[FieldError]:
    number, fault = _found(doc, path, int)
    if fault:
        return [invalid(_shown(path), 0, fault)]
    if number is not None and number < 0:
        return [invalid(_shown(path), number, "should be a non-negative integer")]
    if number is not None and number > REPLICAS_MAX:
        return [invalid(_shown(path), number, f"should be less than or equal to {REPLICAS_MAX}")]
    return []


def _found(doc: Document, path: tuple[str, ...], wanted: type) -> tuple[Json, str]:
    """What is there, or why it is not of the type; nothing of either where there is nothing."""
    value: Json = doc
    for step in path:
        if type(value) is not dict:
            return None, _accessor_fault(path, value, "map[string]interface{}")
        if step not in value:
            return None, ""
        value = value[step]
    if type(value) is not wanted:
        return None, _accessor_fault(path, value, _GO_TYPES[wanted])
    return value, ""


def _accessor_fault(path: tuple[str, ...], value: Json, wanted: str) -> str:
    return (
        f"{_shown(path)} accessor error: {go_value(value)} is of the type {_GO_TYPES[type(value)]}, expected {wanted}"
    )


def _shown(path: tuple[str, ...]) -> str:
    return "." + ".".join(path)
