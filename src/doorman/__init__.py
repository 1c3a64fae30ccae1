"""Doorman: Kubernetes' taints and tolerations as a system of its own.

The rules can be used alone, on typed values or on plain Kubernetes JSON objects:

>>> from doorman import Toleration, eviction_time, parse_taint, tolerates
>>> tolerates({"key": "gpu", "operator": "Exists"}, parse_taint("gpu=a100:NoSchedule"))
True
>>> eviction_time([parse_taint("k:NoExecute")], [Toleration(operator="Exists", toleration_seconds=60)], now=0.0).instant
60.0

The names are loaded on first use: `import doorman` alone loads nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorman.semantics.library import (
        At,
        Never,
        Now,
        Taint,
        Toleration,
        eviction_time,
        min_toleration_seconds,
        parse_taint,
        tolerates,
        untolerated_taints,
    )

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


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from doorman.semantics import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
