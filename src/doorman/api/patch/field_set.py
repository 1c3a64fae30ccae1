"""Sets of field paths in the form managedFields keeps them (FieldsV1): nested objects.

A node is an object whose members are path elements: `f:name` a field or map key, `k:{...}` an element of a keyed
list, `v:...` an element of a set. The empty object is a path that is in the set; a node with children is itself in
the set only if it has the member `.`.

    {"f:spec": {"f:taints": {}, "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}
    holds  .spec.taints   .spec.containers[name="c"]   .spec.containers[name="c"].image
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

FieldSet = dict[str, Any]  # nested: see above
SELF: Final = "."
ORDERED_MAX: Final = 10_000


def is_member(node: FieldSet | None) -> bool:
    return node is not None and (not node or SELF in node)


def union(one: FieldSet | None, other: FieldSet | None) -> FieldSet | None:
    if one is None:
        return other
    if other is None:
        return one
    if not one or not other:
        return _node(True, {**one, **other})
    children = {SELF: {}, **one} if SELF in other else dict(one)
    for name, child in other.items():
        children[name] = union(children[name], child) if name in children else child
    return children


def difference(one: FieldSet | None, other: FieldSet | None) -> FieldSet | None:
    """Without the very paths of the other set."""
    if one is None or other is None:
        return one
    children: FieldSet = {}
    for name, child in one.items():
        if name == SELF:
            continue
        rest = difference(child, other.get(name)) if name in other else child
        if rest is not None:
            children[name] = rest
    return _node(is_member(one) and not is_member(other), children)


def with_named_fields(node: FieldSet | None) -> FieldSet | None:
    """With every field that has something below it in the set: whoever owns a label holds on to the labels.

    >>> with_named_fields({"f:metadata": {"f:labels": {"f:a": {}}}})
    {'f:metadata': {'.': {}, 'f:labels': {'.': {}, 'f:a': {}}}}
    """
    if node is None:
        return None
    out: FieldSet = {}
    for name, child in node.items():
        inner = with_named_fields(child) if name != SELF else child
        out[name] = {SELF: {}, **inner} if inner and name.startswith("f:") else inner
    return out


def without_below(one: FieldSet | None, gone: FieldSet | None) -> FieldSet | None:
    """Without the paths of the other set and everything below them."""
    if one is None or gone is None:
        return one
    if is_member(gone):
        return None
    children: FieldSet = {}
    for name, child in one.items():
        if name == SELF:
            continue
        rest = without_below(child, gone.get(name)) if name in gone else child
        if rest is not None:
            children[name] = rest
    return _node(is_member(one), children)


def intersection(one: FieldSet | None, other: FieldSet | None) -> FieldSet | None:
    if one is None or other is None:
        return None
    children: FieldSet = {}
    for name, child in one.items():
        if name != SELF and name in other:
            both = intersection(child, other[name])
            if both is not None:
                children[name] = both
    return _node(is_member(one) and is_member(other), children)


def paths(node: FieldSet | None, prefix: str = "") -> Iterator[str]:
    """The paths as conflict messages write them: `.spec.containers[name="c"].image`."""
    if node is None:
        return
    children = [(prefix + written(name), child) for name, child in sorted(node.items()) if name != SELF]
    # What is in the set at a level comes before what is below it.
    yield from (place for place, child in children if is_member(child))
    for place, child in children:
        yield from paths(child, place)


def written(element: str) -> str:
    """A path element as messages show it.

    >>> written('k:{"name":"c"}'), written("f:spec")
    ('[name="c"]', '.spec')
    """
    if element.startswith("f:"):
        return "." + element[2:]
    if element.startswith("v:"):
        return f"[={element[2:]}]"
    if element.startswith("k:"):
        keys = msgspec.json.decode(element[2:])
        return "[" + ",".join(f"{name}={_shown(value)}" for name, value in keys.items()) + "]"
    return f"[{element[2:]}]"


def ordered(node: FieldSet | None) -> FieldSet | None:
    """The same set, in the order in which Kubernetes writes it: some clients compare the text. Of very many elements
    the order is left as it is: sorting them would keep everybody else waiting.

    >>> list(ordered({"f:name": {}, "f:image": {}, ".": {}}))
    ['.', 'f:image', 'f:name']
    """
    if not node:
        return node
    names = sorted(node) if len(node) <= ORDERED_MAX else node
    return {name: ordered(child) if (child := node[name]) else child for name in names}


def _node(member: bool, children: FieldSet) -> FieldSet | None:
    if not children:
        return {} if member else None
    return {SELF: {}, **children} if member else children


def _shown(value: Any) -> str:  # JSON
    """A key's value: what is no scalar is no key, and shown all the same.

    >>> _shown("c"), _shown({"a": 1}), _shown([None])
    ('"c"', 'a=1', '[null]')
    """
    if isinstance(value, dict):
        return "".join(f"{name}={_shown(member)}" for name, member in value.items())
    if isinstance(value, list):
        return "[" + ",".join(map(_shown, value)) + "]"
    return msgspec.json.encode(value).decode()
