"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

import re
from typing import Any, Final

import msgspec

from doorman.api.machinery.decode_errors import json_type
from doorman.api.machinery.nesting import is_deeper
from doorman.base.bounds import NESTING_MAX, PATCH_COPY_BYTES_MAX, PATCH_OPERATIONS_MAX
from doorman.base.errors import ApiError, bad_request, rejected, too_large
from doorman.base.json_types import Document

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
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


def json_patch(live: Document, operations: Any) -> Any:  # any JSON value
    """What the operations make of the object, which may be a list: one may replace it as a whole."""
    operations = _operations(operations)
    if len(operations) > PATCH_OPERATIONS_MAX:
        allowed = f"The allowed maximum operations in a JSON patch is {PATCH_OPERATIONS_MAX}, got {len(operations)}"
        raise too_large(allowed)
    patched = _Patched(_decode(_encode(live)))
    for operation in operations:
        patched.apply(operation)
    if is_deeper(patched.doc, NESTING_MAX):
        raise rejected()
    return patched.doc


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


class _Patched:
    """A document that operations change, as the library does that API servers use: elements may be counted from the
    end, what is not there may be replaced and equals null, and what precedes the first slash of a path is passed over.
    """

    def __init__(self, doc: Any) -> None:  # any JSON value
        self.doc = doc
        self._copied_bytes = 0

    def apply(self, operation: Document) -> None:
        path, value = operation.get("path"), operation["value"]
        if not isinstance(path, str):
            raise rejected()
        match operation.get("op"):
            case "add":
                self._add(path, value)
            case "remove":
                self._remove(path)
            case "replace":
                self._replace(path, value)
            case "move":
                self._add(path, self._remove(operation.get("from")))
            case "copy":
                self._copy(operation.get("from"), path)
            case "test":
                found = self.doc if not path else self._get(*self._holder(path))
                if _encode_sorted(found) != _encode_sorted(value):
                    raise rejected()
            case _:
                raise rejected()

    def _holder(self, path: Any) -> tuple[Any, str]:  # any JSON value
        """What holds the last part of a path, and that part."""
        if not isinstance(path, str) or "/" not in path:
            raise rejected()
        *parts, last = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
        holder = self.doc
        for part in parts:
            holder = self._get(holder, part)
            if not isinstance(holder, dict | list):
                raise rejected()
        return holder, last

    def _get(self, holder: Any, part: str) -> Any:  # any JSON value
        return holder.get(part) if isinstance(holder, dict) else holder[_index(part, len(holder))]

    def _add(self, path: str, value: Any) -> None:  # any JSON value
        holder, part = self._holder(path)
        if isinstance(holder, dict):
            holder[part] = value
        elif part == "-":
            holder.append(value)
        else:
            holder.insert(_index(part, len(holder) + 1), value)

    def _remove(self, path: Any) -> Any:  # any JSON value
        holder, part = self._holder(path)
        if isinstance(holder, list):
            return holder.pop(_index(part, len(holder)))
        if part not in holder:
            raise rejected()
        return holder.pop(part)

    def _replace(self, path: str, value: Any) -> None:  # any JSON value
        if not path:
            if not isinstance(value, dict | list):
                raise rejected()
            self.doc = value
            return
        holder, part = self._holder(path)
        holder[part if isinstance(holder, dict) else _index(part, len(holder))] = value

    def _copy(self, start: Any, path: str) -> None:  # any JSON value
        """Twice as much may be copied each time, if nobody counts."""
        encoded = _encode(self._get(*self._holder(start)))
        self._copied_bytes += len(encoded)
        if self._copied_bytes > PATCH_COPY_BYTES_MAX:
            raise rejected()
        self._add(path, _decode(encoded))


def _index(part: str, length: int) -> int:
    """
    >>> _index("1", 3), _index("-1", 3), _index("+2", 3)
    (1, 2, 2)
    """
    if not _INTEGER.fullmatch(part):
        raise rejected()
    index = int(part)
    if not -length <= index < length:
        raise rejected()
    return index % length
