"""Sums over all objects of a kind in a namespace, kept up to date: what quotas are held against.

An object is weighed once a version. A sum that is asked for again is brought up to date by what has changed since, and
what is on its way to the disk counts too: whoever asks must not let in one too many.
"""

from collections import OrderedDict
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from doorman.admission.plugin_contract import Weigh
from doorman.api.kinds import Kind
from doorman.registry.cache.object_reader import ObjectReader
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.semantics.pods.pod_resources import Amounts

USAGE_TOTALS_MAX: Final = 256
"""As many are kept, the most recently used ones."""

_Weights = dict[str, tuple[int, Amounts]]
"""By key: the version that was weighed, and what it came to."""


class UsageTotals:
    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._known: OrderedDict[tuple[str, str, str], _UsageTotal] = OrderedDict()

    def total(self, kind: Kind, namespace: str, name: str, weigh: Weigh) -> Amounts:
        """`name` tells ways of weighing apart: the same one always means the same `weigh`."""
        key = (kind.storage, namespace, name)
        usage_total = self._known.get(key)
        if usage_total is None:
            usage_total = self._known[key] = _UsageTotal(self._reader, kind, namespace)
            if len(self._known) > USAGE_TOTALS_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return usage_total.total(weigh)


class _UsageTotal:
    def __init__(self, reader: ObjectReader, kind: Kind, namespace: str) -> None:
        self._reader = reader
        self._kind = kind
        self._namespace = namespace
        self._prefix = kind.store_key(namespace, "")
        self._last_change = -1
        self._weights: _Weights = {}
        self._pending: _Weights = {}
        self._sum: dict[str, Fraction] = {}

    def total(self, weigh: Weigh) -> Amounts:
        collection = self._reader.collection(self._kind)
        if collection.last_change != self._last_change:
            self._last_change = collection.last_change
            selection = Selection(storage=self._kind.storage, namespace=self._namespace)
            self._refresh(collection.select(selection), weigh)
        return self._with_pending(weigh)

    def _refresh(self, objects: Iterable[Stored], weigh: Weigh) -> None:
        before, fresh = self._weights, {}
        for stored in objects:
            known = before.get(stored.key)
            if known is None or known[0] != stored.revision:
                if known is not None:
                    _add(self._sum, known[1], -1)
                known = self._pending.pop(stored.key, None)
                if known is None or known[0] != stored.revision:
                    known = (stored.revision, weigh(stored.document()))
                _add(self._sum, known[1], +1)
            fresh[stored.key] = known
        for key in before.keys() - fresh.keys():
            _add(self._sum, before[key][1], -1)
        self._weights = fresh

    def _with_pending(self, weigh: Weigh) -> Amounts:
        prefix = self._prefix
        pending = {event.key: event.entry for event in self._reader.pending() if event.key.startswith(prefix)}
        if not pending:
            self._pending.clear()
            return self._sum
        out = dict(self._sum)
        weights: _Weights = {}
        for store_name, entry in pending.items():
            name = store_name.removeprefix(prefix)
            key = f"{self._namespace}/{name}"
            published = self._weights.get(key)
            if published is not None:
                _add(out, published[1], -1)
            if entry is None:
                continue
            known = self._pending.get(key)
            if known is None or known[0] != entry.revision:
                doc = self._reader.newest(self._kind, self._namespace, name)
                assert doc is not None, "what is pending is what is newest"
                known = (entry.revision, weigh(doc))
            weights[key] = known
            _add(out, known[1], +1)
        self._pending = weights
        return out


def _add(total: dict[str, Fraction], amounts: Amounts, sign: int) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, Fraction(0)) + sign * amount
