"""Tolerations as sets of taints: which lies within which, which have a taint in common, and what a policy says.

A toleration stands for all taints it tolerates: an empty key is every key, an empty effect every effect; `Exists` is
every value, `Equal` (or no operator) one, `Lt` and `Gt` the integers below and above theirs.

Rules
-----
1. One lies within another when key, effect and values do.
2. Where the wider one has seconds, the other needs seconds too, and no more of them.
3. Two have a taint in common when their keys, their effects and their values have.
4. A toleration that has a taint in common with one of the deny list is refused. Seconds there are not looked at.
5. With an allow list, a toleration that does not lie within one of its elements is refused; an empty list allows none.
6. What the server itself gives to pods is never refused for want of an entry in the allow list: tolerations of exactly
   one key under `node.kubernetes.io/`, and of the taint of dedicated nodes, which has its own guard.
7. Deny wins over allow, and every policy that selects the namespace is asked: none can take back another's no.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.taints import Toleration
from doorman.api.views.doorman_dev import TAINT_KEY
from doorman.semantics.taints.canonical_integers import INT64_MAX

SYSTEM_PREFIX: Final = "node.kubernetes.io/"
INT64_MIN: Final = -INT64_MAX - 1


class Denied(msgspec.Struct, frozen=True):
    """Rule 4: `rule` of the deny list has a taint in common with the toleration."""

    toleration: Toleration
    rule: Toleration


class NotAllowed(msgspec.Struct, frozen=True):
    """Rule 5."""

    toleration: Toleration


class _Values(msgspec.Struct, frozen=True):
    """All values, one text, or the integers from `low` to `high`."""

    text: str | None = None
    low: int | None = None
    high: int | None = None


_ALL: Final = _Values()


def is_within(inner: Toleration, wider: Toleration) -> bool:
    """Rules 1 and 2.

    >>> is_within(Toleration(key="sla", value="999"), Toleration(key="sla", operator="Gt", value="950"))
    True
    """
    if wider.key and wider.key != inner.key:
        return False
    if wider.effect and wider.effect != inner.effect:
        return False
    if wider.toleration_seconds is not None:
        seconds = inner.toleration_seconds
        if seconds is None or seconds > wider.toleration_seconds:
            return False
    return _values_within(_values(inner), _values(wider))


def has_common_taint(one: Toleration, other: Toleration) -> bool:
    """Rule 3.

    >>> has_common_taint(Toleration(operator="Exists"), Toleration(key="gpu", value="a100", effect="NoSchedule"))
    True
    """
    if one.key and other.key and one.key != other.key:
        return False
    if one.effect and other.effect and one.effect != other.effect:
        return False
    return _values_meet(_values(one), _values(other))


def decide_policy(
    tolerations: Iterable[Toleration], *, allow: Sequence[Toleration] | None, deny: Sequence[Toleration]
) -> Denied | NotAllowed | None:
    """Rules 4 to 6 for one policy: the first objection, or None."""
    for toleration in tolerations:
        for rule in deny:
            if has_common_taint(toleration, rule):
                return Denied(toleration, rule)
        if allow is None or _is_servers(toleration):
            continue
        if not any(is_within(toleration, rule) for rule in allow):
            return NotAllowed(toleration)
    return None


def describe(toleration: Toleration) -> str:
    """
    >>> describe(Toleration(key="gpu", operator="Exists")), describe(Toleration(key="a", value="b", effect="NoExecute"))
    ('gpu Exists', 'a Equal b:NoExecute')
    """
    operator = toleration.operator or "Equal"
    words = [toleration.key or "every key", operator, *([toleration.value] if operator != "Exists" else [])]
    return " ".join(words) + (f":{toleration.effect}" if toleration.effect else "")


def _is_servers(toleration: Toleration) -> bool:
    return toleration.key.startswith(SYSTEM_PREFIX) or toleration.key == TAINT_KEY


def _values(toleration: Toleration) -> _Values:
    match toleration.operator:
        case "Exists":
            return _ALL
        case "Lt" | "Gt" as operator:
            bound = _integer_or_none(toleration.value)
            if bound is None:
                return _Values(low=1, high=0)
            if operator == "Lt":
                return _Values(low=INT64_MIN, high=bound - 1)
            return _Values(low=bound + 1, high=INT64_MAX)
        case _:
            return _Values(text=toleration.value)


def _values_within(inner: _Values, wider: _Values) -> bool:
    if wider == _ALL:
        return True
    if inner == _ALL:
        return False
    if wider.text is not None:
        return inner.text == wider.text
    low, high = _bounds(inner)
    if low > high:
        return inner.text is None  # no taint at all lies within everything; a text that is no integer does not
    wide_low, wide_high = _bounds(wider)
    return wide_low <= low and high <= wide_high


def _values_meet(one: _Values, other: _Values) -> bool:
    if _ALL in (one, other):
        return True
    if one.text is not None and other.text is not None:
        return one.text == other.text
    low, high = _bounds(one)
    other_low, other_high = _bounds(other)
    return max(low, other_low) <= min(high, other_high)


def _bounds(values: _Values) -> tuple[int, int]:
    """As integers; the empty interval for a text that is none."""
    if values.text is not None:
        number = _integer_or_none(values.text)
        return (number, number) if number is not None else (1, 0)
    assert values.low is not None and values.high is not None, "neither all nor a text"  # noqa: PT018
    return values.low, values.high


def _integer_or_none(text: str) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text and INT64_MIN <= number <= INT64_MAX else None
