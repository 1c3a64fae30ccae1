"""When a pod must leave a node because of its NoExecute taints, and which taint and toleration say so.

Rules
-----
1. Only taints with effect NoExecute count; without any the pod stays.
2. A taint that no toleration tolerates: the pod leaves now.
3. Otherwise each taint counts the seconds of the first toleration that tolerates it; one without seconds puts no
   limit.
4. Zero seconds or less: the pod leaves now.
5. Otherwise the smallest number of seconds decides; if there is none the pod stays for ever.
6. Seconds are turned into nanoseconds of 64 bits, as Kubernetes does: what overflows into the negative is for ever.

The instant counts from `now`, when the taint is seen, not from the taint's `timeAdded`. What becomes of a timer that
runs already is the controller's affair.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.taints import Taint, Toleration
from doorman.base.clock import Instant
from doorman.semantics.taints.canonical_integers import INT64_MAX
from doorman.semantics.taints.matching import EVICTS, first_toleration_or_none

FOREVER: Final = -1
"""How `min_toleration_seconds` says that the pod may stay."""

_NANOS: Final = 1_000_000_000


class Never(msgspec.Struct, frozen=True, kw_only=True):
    """The pod stays."""


class At(msgspec.Struct, frozen=True, kw_only=True):
    """The pod leaves at `instant`: `toleration` bears `taint` no longer than until then."""

    instant: Instant
    taint: Taint
    toleration: Toleration


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """The pod leaves at once: nothing tolerates `taint`, or `toleration` does for no time at all."""

    taint: Taint
    toleration: Toleration | None = None


Eviction = Never | At | Now

NEVER: Final = Never()


def decide_eviction(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], now: Instant, *, comparison_operators: bool = True
) -> Eviction:
    """Rules 1 to 6, from all taints of a node and all tolerations of a pod.

    >>> taint = Taint(key="k", value="v", effect="NoExecute")
    >>> decide_eviction([taint], [Toleration(key="k", operator="Exists", toleration_seconds=60)], 100.0).instant
    160.0
    >>> decide_eviction([taint], [Toleration(key="k", operator="Exists")], 100.0)
    Never()
    """
    least: tuple[int, Taint, Toleration] | None = None
    for taint in taints:
        if taint.effect not in EVICTS:
            continue
        toleration = first_toleration_or_none(taint, tolerations, comparison_operators=comparison_operators)
        if toleration is None:
            return Now(taint=taint)
        seconds = toleration.toleration_seconds
        if seconds is not None and (least is None or seconds < least[0]):
            least = (seconds, taint, toleration)
    if least is None:
        return NEVER
    seconds, taint, toleration = least
    nanos = _duration_nanos(seconds)
    if nanos < 0:
        return NEVER
    if nanos == 0:
        return Now(taint=taint, toleration=toleration)
    return At(instant=now + nanos / _NANOS, taint=taint, toleration=toleration)


def min_toleration_seconds(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], *, comparison_operators: bool = True
) -> tuple[bool, int | None]:
    """Whether every taint of the list, of whatever effect, is tolerated, and for how many seconds all of them are.

    The seconds are -1 for ever, and None when some taint is not tolerated. No taints: tolerated, for no time (which is
    what the deciding function of Kubernetes says of an empty list).

    >>> min_toleration_seconds([Taint(key="k", effect="NoExecute")], [Toleration(operator="Exists")])
    (True, -1)
    """
    used_any = False
    least: int | None = None
    for taint in taints:
        toleration = first_toleration_or_none(taint, tolerations, comparison_operators=comparison_operators)
        if toleration is None:
            return False, None
        used_any = True
        seconds = toleration.toleration_seconds
        if seconds is not None and (least is None or seconds < least):
            least = seconds
    if not used_any:
        return True, 0
    if least is None:
        return True, FOREVER
    nanos = _duration_nanos(least)
    return True, FOREVER if nanos < 0 else nanos // _NANOS


def _duration_nanos(seconds: int) -> int:
    """Rules 4 and 6: nanoseconds, negative for ever."""
    if seconds <= 0:
        return 0
    if seconds == INT64_MAX:
        return -1
    wrapped = seconds * _NANOS % 2**64
    return wrapped - 2**64 if wrapped > INT64_MAX else wrapped
