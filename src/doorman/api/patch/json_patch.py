"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

from types import MappingProxyType
from typing import Any, Final

import jsonpatch
import jsonpointer

from doorman.api.machinery.decode_errors import json_type
from doorman.api.machinery.schema import Document
from doorman.base.errors import bad_request, rejected, too_large

OPERATIONS_MAX: Final = 10_000


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
    if len(operations) > OPERATIONS_MAX:
        allowed = f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        raise too_large(allowed)
    try:
        patched = _Operations(operations).apply(live)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, KeyError, TypeError, IndexError) as error:
        raise rejected() from error
    if not isinstance(patched, dict):
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


class _Operations(jsonpatch.JsonPatch):
    operations = MappingProxyType({**jsonpatch.JsonPatch.operations, "test": _Test})
