"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

from typing import Any, Final

import jsonpatch
import jsonpointer

from doorman.api.misfits import json_type
from doorman.api.schema import Document
from doorman.base.errors import ApiError, bad_request, too_large

OPERATIONS_MAX: Final = 10_000
_REJECTED: Final = "the server rejected our request due to an error in our request"


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
    if not isinstance(operations, list):
        found = json_type(operations)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {found} into Go value of type []interface {{}}"
        )
    for operation in operations:
        if not isinstance(operation, dict):
            found = json_type(operation)
            raise bad_request(f"json: cannot unmarshal {found} into Go value of type jsonpatch.Operation")
    if len(operations) > OPERATIONS_MAX:
        allowed = f"The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {len(operations)}"
        raise too_large(allowed)
    try:
        patched = jsonpatch.apply_patch(live, operations)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, KeyError, TypeError, IndexError) as error:
        raise ApiError(422, "Invalid", _REJECTED) from error
    if not isinstance(patched, dict):
        raise ApiError(422, "Invalid", _REJECTED)
    return patched
