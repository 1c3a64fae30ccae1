"""Whether JSON values are the same, and copies of them. In Python 1, 1.0 and True are equal, in JSON three things."""

from typing import TypeVar

from doorman.base.json_types import Json

_V = TypeVar("_V")


def is_same(one: Json, other: Json) -> bool:
    """
    >>> is_same({"a": [1, "b"]}, {"a": [1, "b"]}), is_same({"a": [1]}, {"a": [1.0]}), is_same(0, False)
    (True, False, False)
    """
    return bool(one == other) and _has_types_of(one, other)


def is_equal(one: Json, other: Json) -> bool:
    """The same, or the same number written otherwise.

    >>> is_equal([1], [1.0]), is_equal([1], [True]), is_equal({"a": 1}, {})
    (True, False, False)
    """
    return bool(one == other) and _has_booleans_of(one, other)


def copied(value: _V) -> _V:
    """A copy that shares no object and no list with the value, for a fraction of what a copy of anything takes.

    >>> before = {"a": [{}]}
    >>> after = copied(before)
    >>> after == before, after["a"][0] is before["a"][0]
    (True, False)
    """
    copy: Json = value
    if isinstance(value, dict):
        copy = {name: copied(member) for name, member in value.items()}
    elif isinstance(value, list):
        copy = [copied(item) for item in value]
    return copy  # type: ignore[no-any-return]


def _has_types_of(one: Json, other: Json) -> bool:
    if isinstance(one, dict):
        return all(_has_types_of(member, other[name]) for name, member in one.items())
    if isinstance(one, list):
        return all(map(_has_types_of, one, other))
    return type(one) is type(other)


def _has_booleans_of(one: Json, other: Json) -> bool:
    if isinstance(one, dict):
        return all(_has_booleans_of(member, other[name]) for name, member in one.items())
    if isinstance(one, list):
        return all(map(_has_booleans_of, one, other))
    return isinstance(one, bool) is isinstance(other, bool)
