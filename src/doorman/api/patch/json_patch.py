"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

from types import MappingProxyType
from typing import Any, Final

import jsonpatch
import jsonpointer
import msgspec

from doorman.api.machinery.decode_errors import json_type
from doorman.api.machinery.nesting import is_deeper
from doorman.api.machinery.schema import Document
from doorman.base.bounds import NESTING_MAX, PATCH_COPY_BYTES_MAX, PATCH_OPERATIONS_MAX
from doorman.base.errors import ApiError, bad_request, rejected, too_large

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_TEXTS: Final = ("op", "path", "from")


def merge_patch(live: Document, patch: Document) -> Document:
    """Null removes, objects merge, everything else replaces.

    >>> merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None}, "d": [1]})
    {'a': {'c': 2}, 'd': [1]}
    """
    out = dict(live)
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        elif isinstance(value, dict):
            found = out.get(name)
            out[name] = merge_patch(found if isinstance(found, dict) else {}, value)
        else:
            out[name] = _without_nulls(value)
    return out


def _without_nulls(value: Any) -> Any:  # any JSON value
    """What takes a member's place whole: null members of what is in a list say that there is none.

    >>> _without_nulls([{"a": None, "b": [{"c": None}]}, None])
    [{'b': [{}]}, None]
    """
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def in_order(value: Any) -> Any:  # any JSON value
    """The same with all members by name: so a merge patch leaves them.

    >>> in_order({"b": [{"d": 1, "c": 2}], "a": 3})
    {'a': 3, 'b': [{'c': 2, 'd': 1}]}
    """
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


def json_patch(live: Document, operations: Any) -> Document:  # any JSON value
    operations = _operations(operations)
    if len(operations) > PATCH_OPERATIONS_MAX:
        allowed = f"The allowed maximum operations in a JSON patch is {PATCH_OPERATIONS_MAX}, got {len(operations)}"
        raise too_large(allowed)
    try:
        patched = _Operations(operations).apply(_decode(_encode(live)), in_place=True)
    except _REFUSED as error:
        raise rejected() from error
    if not isinstance(patched, dict) or is_deeper(patched, NESTING_MAX):
        raise rejected()
    return patched


def operation_faults(patch: Any) -> list[str]:  # any JSON value
    """What a decoder that looks for unknown fields finds in the operations. Raises what it cannot read.

    >>> operation_faults([{"op": "remove", "path": "/a", "why": 1}])
    ['unknown field "[0].why"']
    """
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(json_type(patch), "[]handlers.jsonPatchOp")
    found = []
    for index, operation in enumerate(patch):
        if not isinstance(operation, dict | None):
            raise _undecodable(json_type(operation), "handlers.jsonPatchOp")
        for name, value in (operation or {}).items():
            if name in _TEXTS and not isinstance(value, str | None):
                raise _undecodable(json_type(value), "string")
            if name not in _TEXTS and name != "value":
                found.append(f'unknown field "[{index}].{name}"')
    return found


def _undecodable(found: str, wanted: str) -> ApiError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go value of type {wanted}")


def _operations(patch: Any) -> list[Document]:  # any JSON value
    """Each with a value: one that is not given is null."""
    for operation in patch or ():
        if operation is None:
            raise rejected()
        if not isinstance(operation, dict):
            found = json_type(operation)
            raise bad_request(f"json: cannot unmarshal {found} into Go value of type jsonpatch.Operation")
    return [{"value": None, **operation} for operation in patch or ()]


class _Replace(jsonpatch.ReplaceOperation):
    """A member that is not there may be replaced, too."""

    def apply(self, obj: Any) -> Any:  # any JSON value
        holder, member = self.pointer.to_last(obj)
        if isinstance(holder, dict) and member is not None:
            holder[member] = self.operation["value"]
            return obj
        return super().apply(obj)


class _Test(jsonpatch.TestOperation):
    """What is not there equals null: so clients make sure that nobody has set a field meanwhile."""

    def apply(self, obj: Any) -> Any:  # any JSON value
        if "value" in self.operation and self.operation["value"] is None:
            holder, member = self.pointer.to_last(obj)
            if isinstance(holder, dict) and member is not None and holder.get(member) is None:
                return obj
        return super().apply(obj)


class _Copied:
    """How much the operations of one patch have copied: twice as much each time, if nobody counts."""

    def __init__(self) -> None:
        self.bytes = 0


class _Copy(jsonpatch.CopyOperation):
    copied: _Copied

    def apply(self, obj: Any) -> Any:  # any JSON value
        encoded = _encode(self.pointer_cls(self.operation["from"]).resolve(obj))
        self.copied.bytes += len(encoded)
        if self.copied.bytes > PATCH_COPY_BYTES_MAX:
            raise jsonpatch.JsonPatchConflict(f"more than {PATCH_COPY_BYTES_MAX} bytes are copied")
        return jsonpatch.AddOperation({"op": "add", "path": self.location, "value": _decode(encoded)}).apply(obj)


class _Operations(jsonpatch.JsonPatch):
    operations = MappingProxyType({**jsonpatch.JsonPatch.operations, "test": _Test, "copy": _Copy, "replace": _Replace})

    def __init__(self, operations: list[Document]) -> None:
        self._copied = _Copied()
        super().__init__(operations)

    def _get_operation(self, operation: Document) -> Any:  # an operation of the library's
        found = super()._get_operation(operation)  # type: ignore[misc]  # the stubs leave it out
        if isinstance(found, _Copy):
            found.copied = self._copied
        return found


_REFUSED = (
    jsonpatch.JsonPatchException,
    jsonpointer.JsonPointerException,
    KeyError,
    TypeError,
    IndexError,
    RecursionError,
)
