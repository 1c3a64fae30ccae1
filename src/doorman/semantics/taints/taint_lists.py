"""Lists of taints: what is the same taint, and how controllers add, change and remove.

Rules
-----
1. Two taints are the same when key and effect are; value and `timeAdded` are payload.
2. Adding a taint that is there and equal in every field changes nothing.
3. Adding a taint that is there otherwise replaces every one that is the same, in place; else it is appended.
4. Deleting drops every one that is the same, or every one with a key.
5. The difference of two lists goes by sameness alone: a changed value is no difference.
"""

from collections.abc import Iterable, Sequence

from doorman.api.taints import Taint


def is_same_taint(one: Taint, other: Taint) -> bool:
    """Rule 1."""
    return one.key == other.key and one.effect == other.effect


def has_taint(taints: Iterable[Taint], taint: Taint) -> bool:
    return any(is_same_taint(one, taint) for one in taints)


def add_or_update_taint(taints: Sequence[Taint], taint: Taint) -> tuple[tuple[Taint, ...], bool]:
    """Rules 2 and 3: the new list, and whether it changed."""
    same = [one for one in taints if is_same_taint(one, taint)]
    if not same:
        return (*taints, taint), True
    if taint in same:
        return tuple(taints), False
    return tuple(taint if is_same_taint(one, taint) else one for one in taints), True


def delete_taint(taints: Sequence[Taint], taint: Taint) -> tuple[tuple[Taint, ...], bool]:
    """Rule 4: the new list, and whether anything was dropped."""
    kept = tuple(one for one in taints if not is_same_taint(one, taint))
    return kept, len(kept) != len(taints)


def delete_taints_by_key(taints: Sequence[Taint], key: str) -> tuple[tuple[Taint, ...], bool]:
    kept = tuple(one for one in taints if one.key != key)
    return kept, len(kept) != len(taints)


def diff_taints(new: Sequence[Taint], old: Sequence[Taint]) -> tuple[tuple[Taint, ...], tuple[Taint, ...]]:
    """Rule 5: what is to be added to `old`, and what removed from it."""
    to_add = tuple(taint for taint in new if not has_taint(old, taint))
    to_remove = tuple(taint for taint in old if not has_taint(new, taint))
    return to_add, to_remove
