"""The rules for people who import Doorman: every function takes typed values or plain Kubernetes JSON objects.

`doorman` itself re-exports these names, on first use, so that `import doorman` costs next to nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from doorman.api.taints import Taint, Toleration
from doorman.base.clock import Instant
from doorman.semantics.taints import eviction_time as eviction
from doorman.semantics.taints import matching
from doorman.semantics.taints.eviction_time import At, Never, Now
from doorman.semantics.taints.matching import NO_ADMITTANCE
from doorman.semantics.taints.taint_spec import parse_taint

AnyTaint = Taint | Mapping[str, Any]  # JSON as it comes out of a parser
AnyToleration = Toleration | Mapping[str, Any]  # the same

__all__ = [
    "At",
    "Never",
    "Now",
    "Taint",
    "Toleration",
    "eviction_time",
    "min_toleration_seconds",
    "parse_taint",
    "tolerates",
    "untolerated_taints",
]


def tolerates(toleration: AnyToleration, taint: AnyTaint, *, comparison_operators: bool = True) -> bool:
    """Whether one toleration tolerates one taint.

    >>> tolerates({"key": "gpu", "operator": "Exists"}, {"key": "gpu", "value": "a100", "effect": "NoSchedule"})
    True
    >>> tolerates(Toleration(key="sla", operator="Gt", value="950"), parse_taint("sla=999:NoSchedule"))
    True
    """
    return matching.tolerates(to_toleration(toleration), to_taint(taint), comparison_operators=comparison_operators)


def untolerated_taints(
    taints: Iterable[AnyTaint],
    tolerations: Iterable[AnyToleration],
    *,
    effects: Iterable[str] = NO_ADMITTANCE,
    comparison_operators: bool = True,
) -> list[Taint]:
    """The taints that keep a pod off a node, in order; `effects` says which effects count.

    >>> untolerated_taints([{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "PreferNoSchedule"}], [])
    [Taint(key='a', value='', effect='NoSchedule', time_added='')]
    """
    return matching.untolerated_taints(
        map(to_taint, taints),
        [to_toleration(toleration) for toleration in tolerations],
        effects=frozenset(effects),
        comparison_operators=comparison_operators,
    )


def eviction_time(
    taints: Iterable[AnyTaint],
    tolerations: Iterable[AnyToleration],
    now: Instant,
    *,
    comparison_operators: bool = True,
) -> Never | At | Now:
    """When a pod with these tolerations must leave a node whose taints are first seen at `now` (seconds).

    >>> gone = eviction_time(
    ...     [{"key": "k", "effect": "NoExecute"}],
    ...     [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    ...     now=1000.0,
    ... )
    >>> gone.instant, str(gone.taint)
    (1300.0, 'k:NoExecute')
    >>> eviction_time([{"key": "k", "effect": "NoSchedule"}], [], now=1000.0)
    Never()
    """
    return eviction.decide_eviction(
        map(to_taint, taints),
        [to_toleration(toleration) for toleration in tolerations],
        now,
        comparison_operators=comparison_operators,
    )


def min_toleration_seconds(
    taints: Iterable[AnyTaint], tolerations: Iterable[AnyToleration], *, comparison_operators: bool = True
) -> tuple[bool, int | None]:
    """Whether all taints are tolerated, and for how many seconds: -1 for ever, None when not all are.

    >>> min_toleration_seconds([{"key": "k", "effect": "NoExecute"}], [{"operator": "Exists", "tolerationSeconds": 5}])
    (True, 5)
    >>> min_toleration_seconds([{"key": "k", "effect": "NoExecute"}], [])
    (False, None)
    """
    return eviction.min_toleration_seconds(
        map(to_taint, taints),
        [to_toleration(toleration) for toleration in tolerations],
        comparison_operators=comparison_operators,
    )


def to_taint(value: AnyTaint) -> Taint:
    """A typed taint; a field that is missing or null is empty."""
    if isinstance(value, Taint):
        return value
    get = value.get
    return Taint(
        key=get("key") or "", value=get("value") or "", effect=get("effect") or "", time_added=get("timeAdded") or ""
    )


def to_toleration(value: AnyToleration) -> Toleration:
    if isinstance(value, Toleration):
        return value
    get = value.get
    return Toleration(
        key=get("key") or "",
        operator=get("operator") or "",
        value=get("value") or "",
        effect=get("effect") or "",
        toleration_seconds=get("tolerationSeconds"),
    )
