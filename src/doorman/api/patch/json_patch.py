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
from doorman.base.errors import bad_request, rejected, too_large

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


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
            out[name] = value
    return out


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


def _operations(patch: Any) -> list[Document]:  # any JSON value
    if patch is None:
        return []
    if not isinstance(patch, list):
        found = json_type(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type []interface {{}}"
        )
    for operation in patch:
        if not isinstance(operation, dict):
            found = json_type(operation)
            raise bad_request(f"json: cannot unmarshal {found} into Go value of type jsonpatch.Operation")
    return patch


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
    operations = MappingProxyType({**jsonpatch.JsonPatch.operations, "test": _Test, "copy": _Copy})

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
