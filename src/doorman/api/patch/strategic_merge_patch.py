"""Strategic merge patch: lists merge by key where the type table says so, and are replaced everywhere else.

Taints and tolerations have no merge key: a patch carries the whole list. Conditions merge by `type`, containers by
`name`. Directives: `$patch` (replace, delete, merge), `$deleteFromPrimitiveList/F`, `$setElementOrder/F`,
`$retainKeys`.
"""

from collections.abc import Mapping
from typing import Final

from doorman.api.json_values import copied
from doorman.api.machinery.schema import Schema
from doorman.base.errors import ApiError, bad_request, rejected
from doorman.base.go_format import go_value
from doorman.base.json_types import Document, Json

PATCH: Final = "$patch"
RETAIN: Final = "$retainKeys"
DELETE_FROM: Final = "$deleteFromPrimitiveList"
ORDER: Final = "$setElementOrder"
GONE: Final = object()
"""What was put in whole and says of itself that it goes."""
_UNREADABLE: Final = {
    DELETE_FROM: "invalid patch format of primitive list",
    ORDER: "invalid patch format of setElementOrder list",
}
_GO_TYPES: Final = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    dict: "map[string]interface {}",
    type(None): "%!s(<nil>)",
}


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
            self._merge_member(type_name, out, name, value)
        return out

    def _follow_directives(self, type_name: str | None, live: Document, patch: Document) -> Document:
        if PATCH in patch:
            return _replaced(patch)
        patch, out = dict(patch), dict(live)
        if RETAIN in patch:
            _retain(out, patch, patch.pop(RETAIN))
        for directive in [name for name in patch if name.startswith(ORDER)]:
            self._merge_in_order(type_name, out, patch, directive)
        for name, value in patch.items():
            if name.startswith(DELETE_FROM):
                self._delete_from(type_name, out, _field_of(name, DELETE_FROM), value)
            else:
                self._merge_member(type_name, out, name, value)
        return out

    def _merge_in_order(self, type_name: str | None, out: Document, patch: Document, directive: str) -> None:
        """A list and what is said of its order, which are taken out of the patch."""
        order = _list(patch.pop(directive))
        name = _field_of(directive, ORDER)
        live = _list(out[name]) if name in out else None
        given = _list(patch.pop(name)) if name in patch else None
        field = self._list_field(type_name, name)
        merge_key = _merge_key(field)
        if given is not None:
            _check_order(given, order, merge_key)
        if live is None and given is None:
            return
        if given is None or live is None:
            merged = _taken(given) if live is None else live
        else:
            merged = self._merge_list(field, live, given, is_ordered=True) if _is_merged(field) else given
        out[name] = _ordered(merged, live or [], order, merge_key)

    def _delete_from(self, type_name: str | None, out: Document, name: str, value: Json) -> None:
        """Of a list elements are taken out; what is no list is merged all the same, when it is of the same type."""
        live = out.get(name)
        if value is None:
            out.pop(name, None)
        elif isinstance(live, list) and isinstance(value, list):
            _check_elements(live, value)
            if any(isinstance(item, dict) for item in (*live, *value)):
                out[name] = self._merge_list(self._field(type_name, name), live, value)
            else:
                out[name] = [item for item in live if item not in value]
        elif type(live) is type(value):
            self._merge_member(type_name, out, name, value)

    def _merge_member(self, type_name: str | None, out: Document, name: str, value: Json) -> None:
        if value is None:
            out.pop(name, None)
            return
        live = out.get(name)
        if isinstance(value, dict) and isinstance(live, dict):
            field = self._field(type_name, name)
            is_replaced = field.get("ps") == "replace"
            out[name] = _without_nulls(value) if is_replaced else self.merge_object(_struct_of(field), live, value)
        elif isinstance(value, list) and isinstance(live, list):
            field = self._field(type_name, name)
            # A list that is replaced is taken as it is, directives included.
            out[name] = self._merge_list(field, live, value) if _is_merged(field) else copied(value)
        elif (taken := _taken(value)) is GONE:
            out.pop(name, None)
        else:
            out[name] = taken

    def _merge_list(
        self, field: Mapping[str, Json], live: list[Json], patch: list[Json], *, is_ordered: bool = False
    ) -> list[Json]:
        """`is_ordered`: somebody says in which order the elements are to be."""
        merge_key = _merge_key(field)
        _check_elements(live, patch)
        if merge_key is None:
            if any(isinstance(item, dict) for item in patch):
                raise _fault("cannot merge lists without merge key for []string")
            fresh = list(dict.fromkeys(patch))
            return [*fresh, *(value for value in live if value not in fresh)]
        element = _struct_of(field)
        if any(item.get(PATCH) == "replace" for item in patch):
            return [_without_nulls(item) for item in patch if item.get(PATCH) != "replace"]
        merged = list(live)
        touched: list[Json] = []
        for item in patch:
            if PATCH in item and item[PATCH] != "delete":
                if item[PATCH] == "merge":
                    raise _fault("merging lists cannot yet be specified in the patch")
                raise _unknown_directive(item)
            if PATCH in item and merge_key in item:
                merged = [found for found in merged if found.get(merge_key) != item[merge_key]]
                continue
            key = _key_in(item, merge_key)
            touched.append(key)
            at = next((i for i, found in enumerate(merged) if found.get(merge_key) == key), None)
            if at is None:
                merged.append(_taken(item))
            else:
                merged[at] = self.merge_object(element, merged[at], item)
        return merged if is_ordered else interleaved(merged, live, touched, merge_key)

    def _list_field(self, type_name: str | None, name: str) -> Mapping[str, Json]:
        """A field of which an order is said. Raises what upstream says of one that has none."""
        if type_name is None:
            raise _fault("merging an object in json but data type is not struct, instead is: map")
        if name not in self._schema.fields(type_name):
            struct = type_name.rpartition(".")[2]
            raise _fault(f'unable to find api field in struct {struct} for the json field "{name}"')
        field = self._field(type_name, name)
        if not (isinstance(field["t"], list) and field["t"][0] == "list"):
            raise _fault("expected slice or array type, but got: struct")
        return field

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


def _check_order(patch: list[Json], order: list[Json], merge_key: str | None) -> None:
    """Every element of a patch list is in its `$setElementOrder`, in the same order."""
    wanted = [item for item in patch if not (isinstance(item, dict) and item.get(PATCH) == "delete")]
    found = 0
    for named in order:
        if found < len(wanted) and _key(named, merge_key) == _key(wanted[found], merge_key):
            found += 1
    if order and found < len(wanted):
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


def _replaced(patch: Document) -> Document:
    """What becomes of an object when a directive says it of the object whole."""
    match patch[PATCH]:
        case "replace":
            return copied({name: value for name, value in patch.items() if name != PATCH})
        case "delete":
            return {}
    raise _unknown_directive(patch)


def _unknown_directive(patch: Document) -> ApiError:
    found = patch[PATCH]
    if isinstance(found, list | dict):
        found = go_value(found)
    elif not isinstance(found, str):
        found = f"%!s({go_type(found)}={go_value(found)})" if found is not None else go_type(found)
    return _fault(f"unknown patch type: {found} in map: {go_value(patch)}")


def go_type(value: Json) -> str:
    """
    >>> go_type(1), go_type([]), go_type(None)
    ('int64', '[]interface {}', '%!s(<nil>)')
    """
    return _GO_TYPES.get(type(value), "[]interface {}")


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise _fault(f"expected a []interface {{}}, but received a {go_type(value)}")
    return value


def _field_of(directive: str, kind: str) -> str:
    """The name of the list that a directive is about."""
    said, slash, name = directive.partition("/")
    if said != kind or not slash:
        raise bad_request(_UNREADABLE[kind])
    return name


def _is_merged(field: Mapping[str, Json]) -> bool:
    return "merge" in str(field.get("ps", "")).split(",")


def _key_in(item: Document, merge_key: str) -> Json:
    if isinstance(item.get(merge_key, {}), dict | list):
        raise _fault(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


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


def _ordered(merged: list[Json], live: list[Json], order: list[Json], merge_key: str | None) -> list[Json]:
    """As `$setElementOrder` says; elements it does not name keep their live order among them."""

    def key_of(item: Json) -> Json:
        return item.get(merge_key) if merge_key is not None else item

    wanted = [_named_in_order(item, index, merge_key) for index, item in enumerate(order)]
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


def _named_in_order(item: Json, index: int, merge_key: str | None) -> Json:
    if merge_key is None:
        if isinstance(item, dict | list):
            raise bad_request(_UNREADABLE[ORDER])
        return item
    if not isinstance(item, dict):
        raise _fault(f"value for key {index} is not a map")
    return _key_in(item, merge_key)


def _taken(value: Json) -> Json:
    """A value that a patch puts in where nothing is, or something of another type: nulls are not stored, and what has a
    directive for itself whole goes.
    """
    if isinstance(value, dict):
        if PATCH in value:
            return GONE
        members = ((name, _taken(member)) for name, member in value.items() if member is not None)
        return {name: member for name, member in members if member is not GONE}
    if isinstance(value, list):
        return [item for item in map(_taken, value) if item is not GONE]
    return value


def _without_nulls(value: Json) -> Json:
    """A value that a patch puts in whole because it says so: nulls and directives are not stored."""
    if isinstance(value, dict):
        return {
            k: _without_nulls(v) for k, v in value.items() if v is not None and not k.startswith(("$patch", "$ret"))
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
