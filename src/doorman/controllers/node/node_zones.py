"""Zones: how healthy each is, how fast its failing nodes may be tainted NoExecute, and which of them wait.

Rules of a zone's state, the first that matches
-----------------------------------------------
1. None ready and some not: FullDisruption.
2. More than two not ready, and they are at least the threshold of all: PartialDisruption.
3. Otherwise Normal.

Rules of the rate
-----------------
4. Normal and FullDisruption: the primary rate. PartialDisruption: the secondary rate in a zone larger than the
   threshold, else none at all.
5. A changed rate makes a new bucket of one token, full unless the old one had none at that moment. A stopped limiter
   passes for one of rate 1 when rates are compared, which is Kubernetes' own slip.
6. When every zone is fully disrupted the fault is taken to be the control plane's: nothing is tainted any more.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from doorman.base.clock import Instant

ZONE_LABELS: Final = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS: Final = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_STOPPED_SAYS_RATE: Final = 1.0


class ZoneState(StrEnum):
    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL_DISRUPTION = "PartialDisruption"
    FULL_DISRUPTION = "FullDisruption"


class ZoneCount(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of a zone that count: those without the label that excludes them."""

    ready: int = 0
    not_ready: int = 0

    @property
    def size(self) -> int:
        return self.ready + self.not_ready


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes a second, and what a zone must be for which."""

    primary: float = 0.1
    secondary: float = 0.01
    large_zone_size_min: int = 50
    """A zone must be larger than this for the secondary rate."""
    unhealthy_share_min: float = 0.55


def zone_of(labels: Mapping[str, str]) -> str:
    """Region and zone in one text, with a NUL between them as Kubernetes has it; empty without both.

    >>> zone_of({"topology.kubernetes.io/zone": "a"})
    ':\\x00:a'
    """
    zone = next((labels[name] for name in ZONE_LABELS if labels.get(name)), "")
    region = next((labels[name] for name in REGION_LABELS if labels.get(name)), "")
    return f"{region}:\0:{zone}" if zone or region else ""


def zone_name(zone: str) -> str:
    """A zone's id as people can read it and kubectl can ask for it: `region.zone`, or `none`."""
    region, _, name = zone.partition(":\0:")
    return ".".join(part for part in (region, name) if part) or "none"


def decide_state(count: ZoneCount, unhealthy_share_min: float) -> ZoneState:
    """Rules 1 to 3."""
    if count.ready == 0 and count.not_ready > 0:
        return ZoneState.FULL_DISRUPTION
    if count.not_ready > 2 and count.not_ready / count.size >= unhealthy_share_min:
        return ZoneState.PARTIAL_DISRUPTION
    return ZoneState.NORMAL


def decide_rate(state: ZoneState, size: int, rates: Rates) -> float:
    """Rule 4."""
    if state is ZoneState.PARTIAL_DISRUPTION:
        return rates.secondary if size > rates.large_zone_size_min else 0.0
    return rates.primary


class TokenBucket:
    """One token at most, filled at `rate` a second; rate 0 never gives one.

    >>> bucket = TokenBucket(0.1, 100.0)
    >>> bucket.take(100.0), bucket.take(109.0), bucket.take(110.0)
    (True, False, True)
    """

    __slots__ = ("_full_at", "rate")

    def __init__(self, rate: float, now: Instant, *, empty: bool = False) -> None:
        self.rate = rate
        self._full_at: Instant | None = None
        if rate > 0:
            self._full_at = now + 1 / rate if empty else now

    @property
    def next_token(self) -> Instant | None:
        """When a token is there; None for never."""
        return self._full_at

    def take(self, now: Instant) -> bool:
        # A token that fills in steps of a hundredth of a second must not be missed by a rounding error.
        if self._full_at is None or now + 1e-6 < self._full_at:
            return False
        self._full_at = now + 1 / self.rate
        return True

    def taken_at(self, instant: Instant) -> None:
        """A token was taken then, before this bucket was there."""
        if self._full_at is not None:
            self._full_at = max(self._full_at, instant + 1 / self.rate)

    def clock_was_set(self, seconds: float) -> None:
        if self._full_at is not None:
            self._full_at += seconds

    def replaced(self, rate: float, now: Instant) -> "TokenBucket":
        """Rule 5."""
        says = self.rate if self.rate > 0 else _STOPPED_SAYS_RATE
        if says == rate:
            return self
        return TokenBucket(rate, now, empty=not self.take(now))


class Zone:
    """The queue of nodes that wait for their NoExecute taint, and the limiter they pass."""

    def __init__(self, rate: float, now: Instant) -> None:
        self.state: ZoneState | None = ZoneState.INITIAL
        """None while no node of the zone counts."""
        self.count = ZoneCount()
        self.limiter = TokenBucket(rate, now)
        self._waiting: dict[str, Instant] = {}
        self._members: set[str] = set()

    @property
    def waiting(self) -> Sequence[str]:
        return list(self._waiting)

    def put(self, name: str, now: Instant, *, is_tainted: bool) -> None:
        """A node that has its taint already stays a member and is not processed again; any other joins at the end."""
        if not is_tainted:
            self._members.discard(name)
            self._waiting.pop(name, None)
        if name not in self._members:
            self._members.add(name)
            self._waiting[name] = now

    def resume(self, name: str, tainted_at: Instant) -> None:
        """A node that had its turn then, in a cluster that is taken up as it was."""
        self._members.add(name)
        self.limiter.taken_at(tainted_at)

    def remove(self, name: str) -> None:
        self._members.discard(name)
        self._waiting.pop(name, None)

    def head(self) -> tuple[str, Instant] | None:
        """Who is next, and from when on."""
        if not self._waiting:
            return None
        name = min(self._waiting, key=self._waiting.__getitem__)
        return name, self._waiting[name]

    def done(self, name: str) -> None:
        self._waiting.pop(name, None)

    def put_off(self, name: str, until: Instant) -> None:
        self._waiting[name] = until

    def clock_was_set(self, seconds: float) -> None:
        self._waiting = {name: since + seconds for name, since in self._waiting.items()}
        self.limiter.clock_was_set(seconds)

    def set_rate(self, rate: float, now: Instant) -> None:
        self.limiter = self.limiter.replaced(rate, now)


class ZoneReport(msgspec.Struct, frozen=True, kw_only=True):
    """A zone, for those who ask how it is doing."""

    zone: str
    state: str
    nodes: int
    unhealthy: int
    nodes_per_second: float
    waiting: tuple[str, ...]
    halted_because: str


class Disruption(StrEnum):
    """What a pass over all zones changed."""

    NONE = "none"
    ENTERED = "entered"
    LEFT = "left"


class Zones:
    """All zones by id, and the decision about them after each health pass."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self._zones: dict[str, Zone] = {}

    def get(self, zone: str) -> Zone | None:
        return self._zones.get(zone)

    def known(self, zone: str) -> Zone:
        found = self._zones.get(zone)
        assert found is not None, "a node's zone is known before the node is monitored"
        return found

    def items(self) -> Iterable[tuple[str, Zone]]:
        return self._zones.items()

    def clock_was_set(self, seconds: float) -> None:
        for zone in self._zones.values():
            zone.clock_was_set(seconds)

    def ensure(self, zone: str, now: Instant) -> bool:
        """Whether the zone was new, or had been forgotten: then it begins with a token again."""
        found = self._zones.get(zone)
        if found is not None and found.state is not None:
            return False
        self._zones[zone] = Zone(self._rates.primary, now)
        return True

    def evaluate(self, counts: Mapping[str, ZoneCount], now: Instant) -> Disruption:
        """Compare what every zone was with what it is, and set the limiters by it."""
        new_states = {zone: decide_state(count, self._rates.unhealthy_share_min) for zone, count in counts.items()}
        all_are = all(state is ZoneState.FULL_DISRUPTION for state in new_states.values())
        for zone, count in counts.items():
            self.ensure(zone, now)
            self._zones[zone].count = count
        all_were = self._all_were_disrupted(counts)
        remembered = {zone: found for zone, found in self._zones.items() if found.state is not None}
        if all_are and all_were:
            return Disruption.NONE
        if all_are:
            for found in remembered.values():
                found.set_rate(0.0, now)
                found.state = ZoneState.FULL_DISRUPTION
            return Disruption.ENTERED
        for zone, found in remembered.items():
            state = new_states.get(zone)
            if state is None or (found.state is state and not all_were):
                continue
            found.set_rate(decide_rate(state, found.count.size, self._rates), now)
            found.state = state
        return Disruption.LEFT if all_were else Disruption.NONE

    def _all_were_disrupted(self, counts: Mapping[str, ZoneCount]) -> bool:
        """Forgets zones without nodes on the way, until the first that was not fully disrupted."""
        for zone, found in self._zones.items():
            if found.state is None:
                continue
            if zone not in counts:
                found.state = None
                found.count = ZoneCount()
            elif found.state is not ZoneState.FULL_DISRUPTION:
                return False
        return True


def report_zone(zone: str, found: Zone) -> ZoneReport:
    rate = found.limiter.rate
    because = ""
    if rate <= 0 and found.state is ZoneState.FULL_DISRUPTION:
        because = "every node of every zone is not ready, so the fault is taken to be the control plane's"
    elif rate <= 0:
        because = f"{found.count.not_ready} of {found.count.size} nodes are not ready and the zone is small"
    return ZoneReport(
        zone=zone_name(zone),
        state=str(found.state),
        nodes=found.count.size,
        unhealthy=found.count.not_ready,
        nodes_per_second=rate,
        waiting=tuple(found.waiting),
        halted_because=because,
    )
