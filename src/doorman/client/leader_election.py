"""Leader election by a Lease, as client-go does it: of several processes one acts.

Rules
-----
1. The record says who holds it, and for how long. Whether it has expired is told by when its content was last seen to
   change, by time that has passed here: clocks of others are not believed, and neither is one's own, which may be set.
2. A record that is empty, expired or one's own may be taken. It is written upon the version that was read: of two who
   try at once one is told of the conflict.
   It was seen when the answer had come, which may be long after it was asked for: until then it may have been renewed.
   Who stands by tries again when it expires, and does not wait for his next turn; where what others write arrives by
   itself, he learns of a renewal as it comes.
3. The holder renews it every `retry_seconds`. Who has not succeeded for `renew_seconds` has lost it, and stops, even
   if he succeeds later; so has who sees that another holds it.
4. Whoever stops gives it back, so that nobody has to wait for it to expire.
5. Nothing is written by a holder whose last renewal is older than `renew_seconds`: it may have slept, and another may
   hold the lease by now.
"""

import logging
import random
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from doorman.api.well_known import SYSTEM_NAMESPACE
from doorman.base.clock import Clock, sleep
from doorman.base.errors import ApiError
from doorman.base.instants import to_micro_time
from doorman.base.json_types import Document

JITTER: Final = 1.2
LOOK_SECONDS: Final = 0.5
"""How often who stands by looks at what has arrived by itself."""
LEAST_SECONDS: Final = 0.001
"""A clock may not be able to show less: who slept for less would not see that time has passed."""

_log: Final = logging.getLogger("doorman.leaderelection")


class LeaseClient(Protocol):
    """Reads and writes one Lease. Every method raises `ApiError`."""

    async def get(self, name: str) -> Document | None: ...

    def known(self, name: str) -> Document | None:
        """What has arrived by itself, without asking; it may be behind. None: nothing does."""
        ...

    async def create(self, lease: Document) -> Document: ...

    async def update(self, lease: Document) -> Document:
        """Upon the resource version in it."""
        ...


class ElectionTimes(msgspec.Struct, frozen=True, kw_only=True):
    """`--leader-elect-lease-duration`, `-renew-deadline` and `-retry-period`."""

    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0

    def fault(self) -> str:
        """What is wrong with them; empty: nothing."""
        if self.lease_seconds <= self.renew_seconds:
            return "the lease duration must be longer than the renew deadline"
        if self.renew_seconds <= self.retry_seconds * JITTER:
            return f"the renew deadline must be longer than {JITTER} retry periods"
        return "" if self.retry_seconds > 0 else "the retry period must be more than 0"


class LeaderElector:
    def __init__(
        self,
        leases: LeaseClient,
        name: str,
        identity: str,
        clock: Clock,
        rng: random.Random,
        times: ElectionTimes | None = None,
        *,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`told` hears what becomes of it, in the words of an event."""
        self.name = name
        self._leases = leases
        self._identity = identity
        self._clock = clock
        self._rng = rng
        self._times = times or ElectionTimes()
        self._told = told
        self._seen: Document | None = None
        self._seen_spec: dict[str, Any] = {}
        self._seen_at = float("-inf")
        self._renewed_at = float("-inf")
        self._is_leading = False

    @property
    def holder(self) -> str:
        found: str = self._seen_spec.get("holderIdentity") or ""
        return found

    @property
    def may_act(self) -> bool:
        """Rule 5."""
        return self._clock.steady() - self._renewed_at < self._times.renew_seconds

    def is_well(self, stale_seconds: float) -> bool:
        """Whether it does not believe to hold a lease that it has not renewed for so long."""
        is_leading = self._is_leading and self._renewed_at != float("-inf")
        return not is_leading or self._clock.steady() - self._renewed_at < stale_seconds

    async def acquire(self) -> None:
        """Return when the lease is held."""
        while not await self._try():
            await self._stand_by()
        self._is_leading = True
        _log.info("%s became leader of %s", self._identity, self.name)
        self._told(f"{self._identity} became leader")

    async def _stand_by(self) -> None:
        """Until the next try, which is soon after the lease has been given back or has expired."""
        clock = self._clock
        again = clock.steady() + self._times.retry_seconds * (1 + self._rng.random() * JITTER)
        is_held = bool(self.holder) and not self._is_expired(clock.steady())
        while (left := (min(again, self._expires_at()) if is_held else again) - clock.steady()) > 0:
            await sleep(clock, max(min(left, LOOK_SECONDS), LEAST_SECONDS))
            arrived = self._leases.known(self.name)
            if arrived is not None:
                self._note(arrived, clock.steady())
                if is_held and not self.holder:
                    return

    async def renew(self) -> None:
        """Return when the lease is lost."""
        while True:
            await sleep(self._clock, self._times.retry_seconds)
            before = self._renewed_at
            await self._try()
            # Also when it was renewed after all: what was to be done meanwhile was refused, and is not tried again.
            if not self.may_act or self._clock.steady() - before >= self._times.renew_seconds:
                self._renewed_at = float("-inf")
                self._is_leading = False
                _log.error("%s lost %s", self._identity, self.name)
                self._told(f"{self._identity} stopped leading")
                return

    async def release(self) -> None:
        """Rule 4. What cannot be given back expires."""
        self._renewed_at = float("-inf")
        try:
            lease = await self._leases.get(self.name)
            if lease is None or lease["spec"].get("holderIdentity") != self._identity:
                return
            now = to_micro_time(self._clock.now())
            given = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
            await self._leases.update({**lease, "spec": {**lease["spec"], **given}})
        except ApiError as error:
            _log.info("%s was not given back: %s", self.name, error)

    async def _try(self) -> bool:
        """One step: whether the lease is held afterwards."""
        began = self._clock.steady()
        try:
            is_held = await self._step(began)
        except ApiError as error:
            _log.info("%s could not be taken: %s", self.name, error)
            return False
        if is_held:
            self._renewed_at = began
        return is_held

    async def _step(self, now: float) -> bool:
        if self._seen is not None and self.holder == self._identity and not self._is_expired(now):
            try:
                self._note(await self._leases.update(self._wanted(self._seen)), now)
            except ApiError as error:
                _log.info("%s is read again: %s", self.name, error)  # somebody wrote it, or nobody answers
            else:
                return True
        lease = await self._leases.get(self.name)
        if lease is None:
            self._note(await self._leases.create(self._wanted(None)), now)
            return True
        self._note(lease, self._clock.steady())
        if lease["spec"].get("strategy"):
            _log.warning("%s is managed by coordinated leader election: it is left alone", self.name)
            return False
        if self.holder and self.holder != self._identity:
            self._renewed_at = float("-inf")
            if not self._is_expired(now):
                return False
        self._note(await self._leases.update(self._wanted(lease)), now)
        return True

    def _note(self, lease: Document, now: float) -> None:
        """Rule 1."""
        spec = lease.get("spec") or {}
        if spec != self._seen_spec:
            if spec.get("holderIdentity") not in (self.holder, self._identity, "", None):
                _log.info("%s is held by %s", self.name, spec["holderIdentity"])
            self._seen_at = now
        self._seen, self._seen_spec = {**lease, "spec": spec}, spec

    def _is_expired(self, now: float) -> bool:
        return now >= self._expires_at()

    def _expires_at(self) -> float:
        return self._seen_at + float(self._seen_spec.get("leaseDurationSeconds") or 0)

    def _wanted(self, lease: Document | None) -> Document:
        """Rule 2."""
        moment = to_micro_time(self._clock.now())
        before: dict[str, Any] = (lease or {}).get("spec") or {}
        spec = {**before, "holderIdentity": self._identity, "renewTime": moment}
        spec["leaseDurationSeconds"] = round(self._times.lease_seconds)
        if before.get("holderIdentity") != self._identity:
            spec["acquireTime"] = moment
            spec["leaseTransitions"] = (before.get("leaseTransitions") or 0) + 1 if lease is not None else 0
        metadata = {"name": self.name, "namespace": SYSTEM_NAMESPACE}
        return {**(lease or {"metadata": metadata}), "spec": spec}
