"""Strategic merge patch: lists merge by key where the type table says so, and are replaced everywhere else.

Taints and tolerations have no merge key: a patch carries the whole list. Conditions merge by `type`, containers by
`name`. Directives: `$patch` (replace, delete, merge), `$deleteFromPrimitiveList/F`, `$setElementOrder/F`,
`$retainKeys`.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

from doorman.api.machinery.schema import Document, Schema
from doorman.base.errors import ApiError, bad_request, rejected
from doorman.base.go_format import go_value

PATCH: Final = "$patch"
RETAIN: Final = "$retainKeys"
DELETE_FROM: Final = "$deleteFromPrimitiveList/"
ORDER: Final = "$setElementOrder/"

Json = Any  # any JSON value: a patch may hold anything anywhere


def strategic_merge(schema: Schema, type_name: str, live: Document, patch: Document) -> Document:
    """The patched document; `live` is not changed."""
    return _Merger(schema).merge_object(type_name, live, patch)


class _Merger:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def merge_object(self, type_name: str | None, live: Document, patch: Document) -> Document:
        if any(name.startswith("$") for name in patch):
            return self._follow_directives(type_name, live, patch)
        out = dict(live)
        for name, value in patch.items():
            self._merge_member(type_name, out, name, value, None)
        return out

    def _follow_directives(self, type_name: str | None, live: Document, patch: Document) -> Document:
        given, patch = patch, dict(patch)
        directive = patch.pop(PATCH, None)
        if directive == "replace":
            return copy.deepcopy(patch)
        if directive == "delete":
            return {}
        if directive is not None:
            raise _fault(f"unknown patch type: {go_value(directive)} in map: {go_value(given)}")
        retained = patch.pop(RETAIN, None)
        out = dict(live)
        if retained is not None:
            _retain(out, patch, retained)
        for name, value in patch.items():
            if name.startswith(DELETE_FROM):
                _delete_primitives(out, name.removeprefix(DELETE_FROM), value)
            elif not name.startswith(ORDER):
                self._merge_member(type_name, out, name, value, patch.get(ORDER + name))
        for name, order in patch.items():
            field = name.removeprefix(ORDER)
            if name.startswith(ORDER) and field not in patch and isinstance(out.get(field), list):
                merge_key = _merge_key(self._field(type_name, field))
                out[field] = _ordered(out[field], out[field], order, merge_key)
        return out

    def _merge_member(self, type_name: str | None, out: Document, name: str, value: Json, order: Json) -> None:
        if value is None:
            out.pop(name, None)
            return
        if not isinstance(value, dict | list):
            out[name] = value
            return
        field = self._field(type_name, name)
        live = out.get(name)
        if isinstance(value, dict):
            if isinstance(live, dict) or live is None:
                if field.get("ps") == "replace":
                    out[name] = _without_nulls(value)
                else:
                    out[name] = self.merge_object(_struct_of(field), live or {}, value)
                return
        elif isinstance(value, list) and "merge" in str(field.get("ps", "")).split(","):
            out[name] = self._merge_list(field, live if isinstance(live, list) else [], value, order)
            return
        elif isinstance(value, list) and isinstance(live, list):
            out[name] = copy.deepcopy(value)  # a list that is replaced is taken as it is, directives included
            return
        out[name] = _without_nulls(value)

    def _merge_list(self, field: Mapping[str, Json], live: list[Json], patch: list[Json], order: Json) -> list[Json]:
        merge_key = _merge_key(field)
        if order is not None:
            _check_order(patch, order, merge_key)
        _check_elements(live, patch)
        if merge_key is None:
            if any(isinstance(item, dict) for item in patch):
                raise _fault("cannot merge lists without merge key for []string")
            fresh = list(dict.fromkeys(patch))
            merged = [*fresh, *(value for value in live if value not in fresh)]
            return _ordered(merged, live, order, None) if order is not None else merged
        element = _struct_of(field)
        if not all(isinstance(item, dict) for item in patch):
            return [_without_nulls(item) for item in patch]  # nothing is there: it is taken as it is
        is_plain = not live and not any(PATCH in item for item in patch)  # nothing is there to be merged with
        if is_plain or any(item.get(PATCH) == "replace" for item in patch):
            return [_without_nulls(item) for item in patch if item.get(PATCH) != "replace"]
        merged = list(live)
        touched: list[Json] = []
        for item in patch:
            if item.get(PATCH) == "merge":
                raise _fault("merging lists cannot yet be specified in the patch")
            if item.get(PATCH) not in (None, "delete"):
                raise _fault(f"unknown patch type: {go_value(item[PATCH])} in map: {go_value(item)}")
            if isinstance(item.get(merge_key, {}), dict | list):
                raise _fault(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")
            key = item[merge_key]
            if item.get(PATCH) == "delete":
                merged = [found for found in merged if found.get(merge_key) != key]
                continue
            touched.append(key)
            at = next((i for i, found in enumerate(merged) if found.get(merge_key) == key), None)
            if at is None:
                merged.append(self.merge_object(element, {}, item))
            else:
                merged[at] = self.merge_object(element, merged[at], item)
        if order is not None:
            return _ordered(merged, live, order, merge_key)
        return interleaved(merged, live, touched, merge_key)

    def _field(self, type_name: str | None, name: str) -> Mapping[str, Json]:
        if type_name is None:
            return {"t": "raw"}
        field = self._schema.fields(type_name).get(name)
        if field is None:
            return {"t": "raw"}
        return field if isinstance(field, dict) else {"t": field}


def _fault(text: str) -> ApiError:
    """A patch that cannot be followed; Kubernetes has no better word for it than its own."""
    return ApiError(500, "", text)


def _check_elements(live: list[Json], patch: list[Json]) -> None:
    """What is merged is of one type, and not made of lists."""
    if live and len({type(item) for item in (*live, *patch)}) > 1:
        raise _fault(f"list element types are not identical: {go_value([live, patch])}")
    if any(isinstance(item, list) for item in patch):
        raise rejected()


def _check_order(patch: list[Json], order: Json, merge_key: str | None) -> None:
    """Every element of a patch list is in its `$setElementOrder`, in the same order."""
    if not isinstance(order, list):
        raise bad_request("invalid patch format of setElementOrder list")
    wanted = [item for item in patch if not (isinstance(item, dict) and item.get(PATCH) == "delete")]
    found = 0
    for named in order:
        if found < len(wanted) and _key(named, merge_key) == _key(wanted[found], merge_key):
            found += 1
    if found < len(wanted):
        lists = (go_value(patch), go_value(order))
        raise _fault(f"The order in patch list:\n{lists[0]}\n doesn't match $setElementOrder list:\n{lists[1]}\n")


def _key(item: Json, merge_key: str | None) -> Json:
    return item.get(merge_key) if merge_key is not None and isinstance(item, dict) else item


def _struct_of(field: Mapping[str, Json]) -> str | None:
    expression = field["t"]
    if isinstance(expression, list):
        expression = expression[1] if expression[0] == "list" else None
    return expression[1:] if isinstance(expression, str) and expression.startswith("@") else None


def _merge_key(field: Mapping[str, Json]) -> str | None:
    found: str | None = field.get("mk")
    return found


def _retain(out: Document, patch: Document, retained: Json) -> None:
    if not isinstance(retained, list):
        raise bad_request("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is not None and not name.startswith("$") and name not in retained:
            raise bad_request("invalid patch format of retainKeys")
    for name in [name for name in out if name not in retained]:
        del out[name]


def _delete_primitives(out: Document, name: str, values: Json) -> None:
    if not isinstance(values, list):
        raise bad_request("invalid patch format of primitive list")
    if isinstance(out.get(name), list):
        out[name] = [value for value in out[name] if value not in values]


def interleaved(merged: list[Json], live: list[Json], touched: list[Json], merge_key: str) -> list[Json]:
    """Patched elements in patch order among the untouched ones in live order; new ones come first."""
    by_key = {item.get(merge_key): item for item in merged}
    patched = [by_key[key] for key in dict.fromkeys(touched) if key in by_key]
    rest = [item for item in merged if item.get(merge_key) not in touched]
    place = {item.get(merge_key): i for i, item in enumerate(live)}
    out: list[Json] = []
    while patched and rest:
        first, other = patched[0].get(merge_key), rest[0].get(merge_key)
        if first in place and other in place and place[other] < place[first]:
            out.append(rest.pop(0))
        else:
            out.append(patched.pop(0))
    return [*out, *patched, *rest]


def _ordered(merged: list[Json], live: list[Json], order: Json, merge_key: str | None) -> list[Json]:
    """As `$setElementOrder` says; elements it does not name keep their live order among them."""
    if not isinstance(order, list):
        raise bad_request("invalid patch format of setElementOrder list")

    def key_of(item: Json) -> Json:
        return item.get(merge_key) if merge_key is not None else item

    try:
        wanted = [item[merge_key] if merge_key is not None else item for item in order]
    except (KeyError, TypeError) as error:
        raise bad_request("invalid patch format of setElementOrder list") from error
    if any(isinstance(key, dict | list) for key in wanted):
        raise bad_request("invalid patch format of setElementOrder list")
    by_key = {key_of(item): item for item in merged}
    named = [by_key[key] for key in wanted if key in by_key]
    rest = [item for item in merged if key_of(item) not in wanted]
    place = {key_of(item): i for i, item in enumerate(live)}
    out: list[Json] = []
    while named and rest:
        first, other = key_of(named[0]), key_of(rest[0])
        if other in place and (first not in place or place[other] < place[first]):
            out.append(rest.pop(0))
        else:
            out.append(named.pop(0))
    return [*out, *named, *rest]


def _without_nulls(value: Json) -> Json:
    """A value a patch puts in whole: nulls and directives are not stored."""
    if isinstance(value, dict):
        return {
            k: _without_nulls(v) for k, v in value.items() if v is not None and not k.startswith(("$patch", "$ret"))
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
