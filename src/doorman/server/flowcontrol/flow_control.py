"""API priority and fairness: FlowSchemas say which priority level a request belongs to, levels how many go at once.

The seats of all levels together are as many as `--max-requests-inflight` and `--max-mutating-requests-inflight` allow;
each level has its share of them. A level may lend what it does not use, and another one that is full borrows from what
is lent, so that seats are not empty while somebody waits. Flows take turns to begin, see `Turns`. Requests of exempt
levels, masters' above all, go ahead whatever is going on, so that somebody can always look. Watches have no seat, but a
user may only have so many.

The configuration is read from the watch cache, and again when it changes.
"""

import math
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from doorman.api.identity import MASTERS, User
from doorman.api.views.access.flowcontrol import (
    FLOW_SCHEMAS,
    PRIORITY_LEVELS,
    FlowSchema,
    LimitedLevel,
    PriorityLevelConfiguration,
)
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.watch_cache import WatchCache
from doorman.server.flowcontrol.flow_schemas import classify, flow_of, in_order
from doorman.server.flowcontrol.level_seats import PriorityLevel, refused
from doorman.server.flowcontrol.turns import Turns
from doorman.server.request import EventStream, RequestInfo

MUTATING_MAX: Final = 200
READ_ONLY_MAX: Final = 400
WATCHES_PER_USER_MAX: Final = 2000
KNOWN_MAX: Final = 4096
SHARES_DEFAULT: Final = 30

_MASTER: Final = User(name="", groups=(MASTERS,))
_ANYTHING: Final = RequestInfo(is_resource=True, verb="get", path="", resource="pods")
_WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))


class Flow(msgspec.Struct, frozen=True):
    """Where a request belongs."""

    level: PriorityLevel | None
    """None: it goes ahead."""
    name: str
    headers: tuple[tuple[str, str], ...]
    """By which a client learns what its requests are taken for."""
    schema: str = ""


class FlowControl:
    def __init__(
        self, cache: WatchCache | None = None, *, mutating_max: int = MUTATING_MAX, read_only_max: int = READ_ONLY_MAX
    ) -> None:
        self._configured = (
            (cache.collection(FLOW_SCHEMAS), cache.collection(PRIORITY_LEVELS)) if cache is not None else None
        )
        self._seats = mutating_max + read_only_max
        self._seen = (-1, -1)
        self._of_masters = Flow(None, "", ())
        """They are exempt by a schema that nobody can change, and ask most."""
        self._schemas: list[FlowSchema] = []
        self.levels: dict[str, PriorityLevel] = {}
        self._uids: dict[str, str] = {}
        self._known: dict[tuple[object, ...], Flow] = {}
        """By what decides: every request asks."""
        self._watches: dict[str, int] = {}
        self._turns = Turns()
        self.running = {"mutating": 0, "readOnly": 0}

    def flow_of(self, user: User, info: RequestInfo) -> Flow:
        configured = self._configured
        if configured is not None and (configured[0].last_change, configured[1].last_change) != self._seen:
            self._configure(*configured)
        if MASTERS in user.groups:
            return self._of_masters
        what = info.path if not info.is_resource else ""
        key = (user.name, user.groups, info.verb, info.group, info.resource, info.subresource, info.namespace, what)
        known = self._known.get(key)
        if known is None:
            known = self._classified(user, info)
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[key] = known
        return known

    def try_enter(self, flow: Flow, info: RequestInfo) -> bool:
        level = flow.level
        if level is None or info.verb == "watch":
            may_enter = True
        else:
            may_enter = self._turns.try_begin(flow.name) and level.try_enter(self._may_borrow)
        if may_enter:
            self._count(info, 1)
        return may_enter

    async def wait(self, flow: Flow, info: RequestInfo) -> None:
        """Raises the 429."""
        level = flow.level
        assert level is not None, "who is exempt does not wait"
        await self._turns.begin(flow.name)
        if not level.try_enter(self._may_borrow):
            await level.wait(flow.name)
        self._count(info, 1)

    def leave(self, flow: Flow, info: RequestInfo) -> None:
        self._count(info, -1)
        level = flow.level
        if level is None or info.verb == "watch":
            return
        level.leave()
        self._turns.ended(flow.name)
        # What this one does not need may let another one borrow.
        for other in [one for one in self.levels.values() if one.waiting]:
            while other.waiting and self._may_borrow(other) and other.hand_on():
                pass

    def _may_borrow(self, level: PriorityLevel) -> bool:
        """Whether it may take one more seat than it has."""
        if level.running < level.seats:
            return True
        if level.borrowable is not None and level.borrowed >= level.borrowable:
            return False
        lent = sum(other.lent_out_at_most for other in self.levels.values() if other is not level)
        taken = sum(other.borrowed for other in self.levels.values())
        return lent > taken

    def _count(self, info: RequestInfo, one: int) -> None:
        self.running["mutating" if info.verb in _WRITES else "readOnly"] += one

    def _classified(self, user: User, info: RequestInfo) -> Flow:
        schema = classify(self._schemas, user, info)
        if schema is None:
            return Flow(None, "", ())
        name = schema.spec.priority_level_configuration.name
        headers = (
            ("X-Kubernetes-PF-FlowSchema-UID", schema.metadata.uid),
            ("X-Kubernetes-PF-PriorityLevel-UID", self._uids.get(name, "")),
        )
        distinguished = f"{schema.metadata.name}/{flow_of(schema, user, info)}"
        return Flow(self.levels.get(name), distinguished, headers, schema.metadata.name)

    def _configure(self, schemas: Collection, configured: Collection) -> None:
        """Levels that are there already keep their seats and who waits for them; only numbers change."""
        self._seen = (schemas.last_change, configured.last_change)
        self._known.clear()
        self._schemas = in_order(one.view for one in schemas.select(Selection(storage=FLOW_SCHEMAS)))
        found: list[PriorityLevelConfiguration] = [
            one.view for one in configured.select(Selection(storage=PRIORITY_LEVELS))
        ]
        self._uids = {level.metadata.name: level.metadata.uid for level in found}
        limited = {
            level.metadata.name: level.spec.limited or LimitedLevel() for level in found if level.spec.type == "Limited"
        }
        shares = sum(_shares(level) for level in limited.values()) or 1
        before, self.levels = self.levels, {}
        for name, level in limited.items():
            seats = math.ceil(self._seats * _shares(level) / shares)
            made = _made(name, level, seats)
            old = before.get(name)
            self.levels[name] = old.reconfigured(made) if old is not None else made
        self._of_masters = self._classified(_MASTER, _ANYTHING)

    # Watches

    def counted(self, user: User, stream: EventStream) -> EventStream:
        """The same stream, counted until it ends."""
        count = self._watches.get(user.name, 0)
        if count >= WATCHES_PER_USER_MAX and MASTERS not in user.groups:
            stream.close()
            raise refused()
        self._watches[user.name] = count + 1
        return _CountedStream(stream, self, user.name)

    @property
    def watches(self) -> int:
        """All that are open."""
        return sum(self._watches.values())

    def watches_of(self, name: str) -> int:
        return self._watches.get(name, 0)

    def watch_ended(self, name: str) -> None:
        left = self._watches[name] - 1
        if left:
            self._watches[name] = left
        else:
            del self._watches[name]


class _CountedStream:
    __slots__ = ("_flow", "_is_counted", "_stream", "_user")

    def __init__(self, stream: EventStream, flow: FlowControl, user: str) -> None:
        self._stream = stream
        self._flow = flow
        self._user = user
        self._is_counted = True

    def lines(self) -> AsyncIterator[bytes]:
        return self._stream.lines()

    def close(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._flow.watch_ended(self._user)
        self._stream.close()


def _shares(level: LimitedLevel) -> int:
    return SHARES_DEFAULT if level.nominal_concurrency_shares is None else level.nominal_concurrency_shares


def _made(name: str, level: LimitedLevel, seats: int) -> PriorityLevel:
    response = level.limit_response
    borrowing = level.borrowing_limit_percent
    lendable = round(seats * (level.lendable_percent or 0) / 100)
    borrowable = None if borrowing is None else round(seats * borrowing / 100)
    if response.type != "Queue" or response.queuing is None:
        return PriorityLevel(name, seats, lendable=lendable, borrowable=borrowable)
    queuing = response.queuing
    return PriorityLevel(
        name,
        seats,
        lendable=lendable,
        borrowable=borrowable,
        queues=queuing.queues,
        hand_size=queuing.hand_size,
        queue_length_max=queuing.queue_length_limit,
    )
