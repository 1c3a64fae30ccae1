"""Which toleration tolerates which taint: the one door for filter, score, eviction, admission and the library.

Rules
-----
1. A toleration with an effect is for taints of that effect only; an empty effect is every effect.
2. A toleration with a key is for taints of that key only; an empty key is every key.
3. No operator and `Equal` ask for the same value; an empty value is a value.
4. `Exists` is content with any value.
5. `Gt` and `Lt` never match while the comparison operators are off.
6. Any other operator never matches.
7. `Gt` asks that the taint's number is greater than the toleration's, `Lt` that it is less; both texts must be
   canonical decimal integers of 64 bits, or there is no match.
8. A list tolerates a taint when one of its elements does; an empty list tolerates nothing.
9. Of taints, those that an effect filter passes over do not count; the others keep their order.
10. Towards eviction each taint uses the first toleration of the list that tolerates it, even if a later one is better.

The functions take anything with the fields of `Taint` and `Toleration`: nothing of what they are fed needs to
have been validated.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.taints import Effect, Taint, Toleration
from doorman.semantics.taints.canonical_integers import canonical_integer_or_none

NO_ADMITTANCE: Final = frozenset({Effect.NO_SCHEDULE.value, Effect.NO_EXECUTE.value})
"""Effects that keep a pod off a node."""

EVICTS: Final = frozenset({Effect.NO_EXECUTE.value})
"""The effect that also makes a pod leave."""

PREFERS: Final = frozenset({Effect.PREFER_NO_SCHEDULE.value})
"""The effect that only lowers a score."""


def tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool = True) -> bool:
    """One toleration against one taint: rules 1 to 7.

    >>> tolerates(Toleration(key="gpu", operator="Exists"), Taint(key="gpu", value="a100", effect="NoSchedule"))
    True
    >>> tolerates(Toleration(key="sla", operator="Gt", value="950"), Taint(key="sla", value="950", effect="NoSchedule"))
    False
    """
    effect = toleration.effect
    if effect and effect != taint.effect:
        return False
    key = toleration.key
    if key and key != taint.key:
        return False
    operator = toleration.operator
    if operator == "Exists":
        return True
    if not operator or operator == "Equal":
        return toleration.value == taint.value
    if comparison_operators and (operator == "Gt" or operator == "Lt"):
        return _compares(operator, toleration.value, taint.value)
    return False


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration], *, comparison_operators: bool = True) -> bool:
    """Rule 8."""
    return first_toleration_or_none(taint, tolerations, comparison_operators=comparison_operators) is not None


def first_toleration_or_none(
    taint: Taint, tolerations: Iterable[Toleration], *, comparison_operators: bool = True
) -> Toleration | None:
    """Rule 10: the toleration that counts for this taint."""
    for toleration in tolerations:
        if tolerates(toleration, taint, comparison_operators=comparison_operators):
            return toleration
    return None


def untolerated_taints(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    *,
    effects: frozenset[str] = NO_ADMITTANCE,
    comparison_operators: bool = True,
) -> list[Taint]:
    """All taints of these effects that no toleration tolerates, in order."""
    return [
        taint
        for taint in taints
        if taint.effect in effects and not is_tolerated(taint, tolerations, comparison_operators=comparison_operators)
    ]


def first_untolerated_or_none(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    *,
    effects: frozenset[str] = NO_ADMITTANCE,
    comparison_operators: bool = True,
) -> Taint | None:
    """Rule 9."""
    for taint in taints:
        if taint.effect in effects and not is_tolerated(taint, tolerations, comparison_operators=comparison_operators):
            return taint
    return None


def preference_tolerations(tolerations: Iterable[Toleration]) -> list[Toleration]:
    """Those that take part in scoring: with effect PreferNoSchedule or none."""
    return [toleration for toleration in tolerations if not toleration.effect or toleration.effect in PREFERS]


def used_tolerations_or_none(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], *, comparison_operators: bool = True
) -> list[Toleration] | None:
    """Rule 10 for a list: one toleration per taint, or None as soon as a taint has none."""
    used = []
    for taint in taints:
        found = first_toleration_or_none(taint, tolerations, comparison_operators=comparison_operators)
        if found is None:
            return None
        used.append(found)
    return used


def _compares(operator: str, asked: str, found: str) -> bool:
    """Rule 7, on the texts of the toleration and of the taint."""
    asked_number = canonical_integer_or_none(asked)
    if asked_number is None:
        return False
    found_number = canonical_integer_or_none(found)
    if found_number is None:
        return False
    return found_number > asked_number if operator == "Gt" else found_number < asked_number
