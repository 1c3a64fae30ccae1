"""Lists of tolerations: which covers which, and how lists are merged and held against a whitelist.

Rules of covering (`is_superset`), the first that speaks decides
----------------------------------------------------------------
1. Equal in every field: yes.
2. Other keys, unless the wider one is `Exists` without a key: no.
3. Another effect, unless the wider one has none: no.
4. The wider one is NoExecute with seconds, and the other has none or more: no.
5. `Equal` (or no operator): yes when the other says `Equal` in so many words and has the same value. `Exists`: yes.
   Anything else: no.

Rules of lists
--------------
6. Merging keeps the order and drops an element that one kept before covers, or that a later, different one covers.
7. A whitelist passes everything when it or the list is empty; else every toleration needs one that covers it.
8. Two tolerations are the same when key, operator, value and effect are, as written: no operator is not `Equal`.
   Adding one that is the same as another replaces it, seconds included.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from doorman.api.taints import Toleration


def is_superset(wider: Toleration, other: Toleration) -> bool:
    """Rules 1 to 5."""
    if wider == other:
        return True
    if wider.key != other.key and not (wider.key == "" and wider.operator == "Exists"):
        return False
    if wider.effect and wider.effect != other.effect:
        return False
    if wider.effect == "NoExecute" and wider.toleration_seconds is not None:
        seconds = other.toleration_seconds
        if seconds is None or seconds > wider.toleration_seconds:
            return False
    if wider.operator in ("", "Equal"):
        return other.operator == "Equal" and other.value == wider.value
    return wider.operator == "Exists"


def merge_tolerations(first: Sequence[Toleration], second: Sequence[Toleration]) -> tuple[Toleration, ...]:
    """Rule 6."""
    merged: list[Toleration] = []
    all_of_them = (*first, *second)
    for index, toleration in enumerate(all_of_them):
        if any(is_superset(kept, toleration) for kept in merged):
            continue
        later = all_of_them[index + 1 :]
        if not any(other != toleration and is_superset(other, toleration) for other in later):
            merged.append(toleration)
    return tuple(merged)


def is_whitelisted(tolerations: Sequence[Toleration], whitelist: Sequence[Toleration]) -> bool:
    """Rule 7."""
    if not tolerations or not whitelist:
        return True
    return all(any(is_superset(allowed, toleration) for allowed in whitelist) for toleration in tolerations)


def is_same_toleration(one: Toleration, other: Toleration) -> bool:
    """Rule 8."""
    return (
        one.key == other.key
        and one.effect == other.effect
        and one.operator == other.operator
        and one.value == other.value
    )


def add_or_update_toleration(
    tolerations: Iterable[Toleration], toleration: Toleration
) -> tuple[tuple[Toleration, ...], bool]:
    """Rule 8: the new list, and whether it changed."""
    out: list[Toleration] = []
    found = changed = False
    for one in tolerations:
        if is_same_toleration(one, toleration):
            found = True
            changed = changed or one != toleration
            out.append(toleration)
        else:
            out.append(one)
    if not found:
        out.append(toleration)
    return tuple(out), changed or not found


def toleration_document(toleration: Toleration) -> dict[str, Any]:  # a toleration as JSON
    """What is stored: empty fields are left out."""
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    found: dict[str, Any] = {name: value for name, value in fields.items() if value}
    if toleration.toleration_seconds is not None:
        found["tolerationSeconds"] = toleration.toleration_seconds
    return found
