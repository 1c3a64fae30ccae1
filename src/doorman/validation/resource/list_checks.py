"""How lists, sets and maps are checked: their size first, and when there are too many elements nothing else."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, duplicate, too_many
from doorman.validation.faults import Part

CheckItem = Callable[[Any, str], list[FieldError]]
"""From an element and its place to what is wrong with it."""

UNBOUNDED: Final = -1
_SHOWN_KEY_CHARS_MIN: Final = 16


def list_errors(items: Sequence[Any] | None, path: str, size_max: int, check: CheckItem) -> list[FieldError]:
    """
    >>> [str(error) for error in list_errors(["a", "b"], "spec.items", 1, lambda item, path: [])]
    ['spec.items: Too many: 2: must have at most 1 items']
    """
    found = items or ()
    if 0 <= size_max < len(found):
        return [too_many(path, len(found), size_max)]
    return [error for index, item in enumerate(found) for error in check(item, f"{path}[{index}]")]


def set_errors(
    items: Sequence[Any] | None,
    path: str,
    size_max: int,
    check: CheckItem,
    key_of: Callable[[Any], Hashable],
    shown_key: Callable[[Any], object] | None = None,
) -> list[FieldError]:
    """A list without two elements of one key. `shown_key`: how a key is told, when not as it is."""
    errors = list_errors(items, path, size_max, check)
    found = items or ()
    if 0 <= size_max < len(found):
        return errors
    seen: set[Hashable] = set()
    for index, item in enumerate(found):
        key = key_of(item)
        if key in seen:
            errors.append(duplicate(f"{path}[{index}]", shown_key(item) if shown_key is not None else key))
        seen.add(key)
    return errors


def map_errors(
    items: Mapping[str, Any] | None,
    path: str,
    size_max: int,
    shown_key_chars_max: int,
    check_key: Callable[[str, str], list[FieldError]],
    check: CheckItem,
) -> list[FieldError]:
    """Keys are told at the place of the map, values at their own."""
    found = items or {}
    if 0 <= size_max < len(found):
        return [too_many(path, len(found), size_max)]
    errors: list[FieldError] = []
    for key, item in sorted(found.items()):
        errors.extend(check_key(key, path))
        errors.extend(check(item, f"{path}[{shortened(key, shown_key_chars_max)}]"))
    return errors


def shortened(text: str, chars_max: int) -> str:
    """A text that is too long without its middle.

    >>> shortened("abcdefghijklmnopqrstuvwxyz", 16)
    'abcdefg...uvwxyz'
    """
    chars_max = max(chars_max, _SHOWN_KEY_CHARS_MIN)
    if len(text) <= chars_max:
        return text
    left = chars_max - len("...")
    return f"{text[: (left + 1) // 2]}...{text[len(text) - left // 2 :]}"


def by_name(item: Part) -> str:
    name: str = item.get("name") or ""
    return name


def itself(item: str) -> str:
    return item


def nothing(_item: object, _path: str) -> list[FieldError]:
    """For elements of which nothing is checked."""
    return []
