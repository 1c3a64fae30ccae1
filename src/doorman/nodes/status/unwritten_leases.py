"""Leases of simulated nodes that nobody writes: where they would have been renewed last is worked out when asked for.

In a plan thousands of nodes renew their leases for hours, and only one thing ever comes of it: the node-lifecycle-
controller looks for signs of life. A node that speaks has renewed in its last slot; what was so when it fell silent, or
spoke again, is written (`SimulatedNodes`), and counts until then.

What is renewed at the very instant of a look is not seen by it, as it would not be were it written.
"""

from collections.abc import Callable, Sequence

import msgspec

from doorman.api.views.coordination import Lease
from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_micro_time
from doorman.client.informer_cache import ListerOf
from doorman.nodes.node_annotations import SCRIPT, SHUTDOWN, SILENT, is_simulated
from doorman.nodes.status.node_lease import last_instant, slot_of


class UnwrittenLeases:
    """A lister of leases, as the node-lifecycle-controller needs one."""

    def __init__(
        self, written: ListerOf[Lease], nodes: ListerOf[Node], period_seconds: float, now: Callable[[], Instant]
    ) -> None:
        self._written = written
        self._nodes = nodes
        self._period_seconds = period_seconds
        self._now = now
        self._slots: dict[str, int] = {}
        self._renewed: dict[str, tuple[Lease, Instant]] = {}
        """By key: what is written, and when that was renewed."""
        self._worked_out: dict[str, tuple[Instant, Lease]] = {}

    def __len__(self) -> int:
        return len(self._written)

    def get(self, key: str) -> Lease | None:
        written = self._written.get(key)
        name = key.rpartition("/")[2]
        node = self._nodes.get(name)
        if written is None or node is None or not renews_unwritten(node):
            return written
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = slot_of(name)
        instant = last_instant(slot, self._period_seconds, self._now())
        known = self._worked_out.get(key)
        if known is not None and known[0] == instant and self._renewed[key][0] is written:
            return known[1]
        renewed = self._renewed.get(key)
        if renewed is None or renewed[0] is not written:
            renewed = self._renewed[key] = (written, renewed_at(written))
        if instant <= renewed[1]:
            return written
        spec = msgspec.structs.replace(written.spec, renew_time=to_micro_time(instant))
        lease = msgspec.structs.replace(written, spec=spec)
        self._worked_out[key] = (instant, lease)
        return lease

    def list(self) -> Sequence[Lease]:
        return self._written.list()

    def by(self, index: str, value: str) -> Sequence[Lease]:
        return self._written.by(index, value)

    def places(self, index: str) -> Sequence[str]:
        return self._written.places(index)


def renews_unwritten(node: Node) -> bool:
    """Whether a node speaks for certain: nothing but an order could silence it, and it has none."""
    annotations = node.metadata.annotations
    if SILENT in annotations or SCRIPT in annotations or SHUTDOWN in annotations:
        return False
    return is_simulated(annotations)


def renewed_at(lease: Lease) -> Instant:
    try:
        return from_time(lease.spec.renew_time) if lease.spec.renew_time else 0.0
    except ValueError:
        return 0.0
