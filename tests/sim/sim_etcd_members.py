"""Three members of a simulated etcd: one order of writes, of which each hears in its own time.

What two of three that hear each other have agreed upon is done. A member that is killed, stopped, or cut off from the
others answers nothing that needs them; what it was asked meanwhile is done late, or never. One that is slow is behind
with what it applies, and so are its watches. While disks stand still nothing new is agreed upon, and all can be read.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from doorman.store.etcd.etcd_messages import MESSAGES
from sim.sim_etcd import EtcdHistory, Message, Refused
from sim.sim_etcd_watcher import Answer, Watcher
from sim.sim_world import World

MEMBERS = 3
USUAL_DELAY_SECONDS_MAX = 0.002
ELECTION_SECONDS = (1.0, 2.0)
LEADERLESS_SECONDS = 3.0
"""After which a member ends the watches of those who want one that has a leader."""
EXPIRY_SECONDS = 0.5
NEVER = float("inf")
NO_LEADER = "etcdserver: no leader"
LEADER_CHANGED = "etcdserver: request timed out, possibly due to previous leader failure"
TOO_MANY = "etcdserver: too many requests"


class Sent(msgspec.Struct, frozen=True):
    """Who has sent a request, and when."""

    who: str
    at: float


NOBODY = Sent("", 0.0)


class SimMember:
    def __init__(self, etcd: "SimEtcd", number: int) -> None:
        self.etcd = etcd
        self.number = number
        self.address = f"etcd-{number}:2379"
        self.is_alive = True
        self.is_stopped = False
        self.is_cut_off = False
        """From the other members; clients still reach it."""
        self.delay_seconds_max = USUAL_DELAY_SECONDS_MAX
        self.read_seconds_max = 0.0
        """How long it may take to read many keys, over and above."""
        self.usual_since = 0.0
        """Since when it is as it should be; infinity: it is not."""
        self.reads = 0
        """Of many keys, which are under way."""
        self.applied = etcd.history.revision
        self.watchers: list[Watcher] = []
        self.links: list[Any] = []
        """Of the clients to it."""
        self._behind_until = 0.0
        self._held: list[Callable[[], None]] = []
        self._waiting: list[tuple[int, Callable[[], None]]] = []

    @property
    def takes_part(self) -> bool:
        return self.is_alive and not self.is_stopped and not self.is_cut_off

    @property
    def compacted(self) -> int:
        return self.etcd.history.compacted_at(self.applied)

    def header(self) -> Message:
        return self.etcd.history.header(self.applied)

    # What it is asked.

    def do(self, work: Callable[[], None]) -> None:
        """When it is not stopped; what has arrived at a process that dies is not done."""
        if self.is_stopped:
            self._held.append(work)
        elif self.is_alive:
            work()

    def later(self, work: Callable[[], None]) -> None:
        world = self.etcd.world
        world.after(world.rng.random() ** 3 * self.delay_seconds_max, lambda: self.do(work))

    def hear(self, method: str, request: Message, sent: Sent, answer: Answer) -> None:
        history, etcd = self.etcd.history, self.etcd
        if etcd.world.rng.random() < etcd.busy:
            answer(Refused("RESOURCE_EXHAUSTED", TOO_MANY))
        elif method == "Maintenance/Status":
            leader = etcd.leader.number if etcd.leader is not None else 0
            answer(MESSAGES["StatusResponse"](header=self.header(), version=etcd.version, leader=leader))
        elif method == "KV/Range":
            self._range(request, answer)
        else:
            operations: dict[str, Callable[[], Message]] = {
                "KV/Txn": lambda: history.transact(request),
                "KV/Compact": lambda: history.compact(request),
                "Lease/LeaseGrant": lambda: history.grant(request, etcd.world.now()),
            }
            etcd.propose(self, operations[method], sent, answer)

    def _range(self, request: Message, answer: Answer) -> None:
        def read() -> None:
            try:
                found: Any = self.etcd.history.range(request, self.applied)
            except Refused as refused:
                found = refused
            if request.range_end and self.read_seconds_max:
                self._read_on(found, answer)
            else:
                answer(found)

        def ask_others() -> None:
            if self.etcd.leader is None or not self.takes_part:
                answer(Refused("UNAVAILABLE", NO_LEADER))
            else:
                self.when_applied(self.etcd.history.revision, read)

        if request.serializable:
            read()
        else:
            self.later(ask_others)

    def _read_on(self, found: Any, answer: Answer) -> None:  # a message, or Refused
        """There is much to read: what is found is as old as the question."""
        self.reads += 1

        def tell() -> None:
            self.reads -= 1
            answer(found)

        self.etcd.world.after(self.etcd.world.rng.random() * self.read_seconds_max, lambda: self.do(tell))

    def watch(self, request: Message, send: Answer) -> Watcher:
        watcher = Watcher(self, request, send)
        self.watchers.append(watcher)
        watcher.begin()
        return watcher

    # What it applies.

    def when_applied(self, revision: int, work: Callable[[], None]) -> None:
        if self.applied >= revision:
            work()
        else:
            self._waiting.append((revision, work))

    def follow(self) -> None:
        """Hear of what there is, in its own time."""
        revision, world = self.etcd.history.revision, self.etcd.world
        world.after(max(self._behind_until - world.now(), 0.0), lambda: self.later(lambda: self._apply(revision)))

    def _apply(self, revision: int) -> None:
        if not self.takes_part or revision <= self.applied:
            return
        self.applied = revision
        for watcher in list(self.watchers):
            watcher.push()
        ready = [work for wanted, work in self._waiting if wanted <= revision]
        self._waiting = [one for one in self._waiting if one[0] > revision]
        for work in ready:
            work()

    # What happens to it.

    def kill(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self.is_stopped = False
            self.reads = 0
            self._held.clear()
            self._waiting.clear()
            self.watchers.clear()
            self._note_state()
            for link in self.links:
                link.member_died()
            self.etcd.look()

    def start(self) -> None:
        if not self.is_alive:
            self.is_alive = True
            self._return()

    def stop(self) -> None:
        if self.is_alive and not self.is_stopped:
            self.is_stopped = True
            self._note_state()
            for link in self.links:
                link.expect_keepalive()
            self.etcd.look()

    def go_on(self) -> None:
        if self.is_stopped:
            self.is_stopped = False
            held, self._held = self._held, []
            for work in held:
                self.later(work)
            self._return()

    def cut_off(self) -> None:
        if not self.is_cut_off:
            self.is_cut_off = True
            self._note_state()
            self.etcd.look()
            self.etcd.world.after(LEADERLESS_SECONDS, self._end_leaderless)

    def mend(self) -> None:
        if self.is_cut_off:
            self.is_cut_off = False
            self._return()

    def _return(self) -> None:
        """It takes part again, and catches up with what it has missed, which may take a while."""
        self._behind_until = self.etcd.world.now() + self.etcd.world.rng.choice((0.0, 0.5, 3.0))
        self._note_state()
        self.etcd.look()
        self.follow()

    def delay(self, seconds_max: float) -> None:
        """From now on what it does may take so long."""
        if self.delay_seconds_max != seconds_max:
            self.delay_seconds_max = seconds_max
            self._note_state()

    def _note_state(self) -> None:
        is_usual = self.takes_part and self.delay_seconds_max <= USUAL_DELAY_SECONDS_MAX
        self.usual_since = max(self.etcd.world.now(), self._behind_until) if is_usual else NEVER

    def _end_leaderless(self) -> None:
        if self.is_cut_off or self.etcd.leader is None:
            for watcher in list(self.watchers):
                self.do(lambda watcher=watcher: watcher.end(Refused("UNAVAILABLE", NO_LEADER)))  # type: ignore[misc]


class SimEtcd:
    def __init__(self, world: World, version: str) -> None:
        self.world = world
        self.version = version
        self.history = EtcdHistory()
        self.members = [SimMember(self, number) for number in range(1, MEMBERS + 1)]
        self.leader: SimMember | None = self.members[0]
        self.leaders = 1
        self.busy = 0.0
        """How often it says that there are too many requests."""
        self.is_stalled = False
        """The disks stand still: what is proposed waits for them."""
        self.stalls = 0
        self.usual_since = 0.0
        """Since when nothing is the matter with all of it; infinity: something is."""
        self._stalled: list[Callable[[], None]] = []
        self.writer = NOBODY
        """Who asked for what is being done."""
        self._undecided: list[Callable[[], None]] = []
        self._expire()

    def member_at(self, address: str) -> SimMember:
        return next(member for member in self.members if member.address == address)

    @property
    def is_whole(self) -> bool:
        """All members take part, and nobody is behind."""
        usual = all(member.takes_part and member.delay_seconds_max <= 0.1 for member in self.members)
        return usual and self._is_usual

    @property
    def _is_usual(self) -> bool:
        return self.leader is not None and not (self.history.is_full or self.busy or self.is_stalled)

    def note_state(self) -> None:
        """Something was done to all of it."""
        self.usual_since = self.world.now() if self._is_usual else NEVER

    def stall(self) -> None:
        self.is_stalled = True
        self.stalls += 1
        self.note_state()

    def go_on(self) -> None:
        self.is_stalled = False
        self.note_state()
        stalled, self._stalled = self._stalled, []
        for decide in stalled:
            decide()

    def propose(self, member: SimMember, operation: Callable[[], Message], sent: Sent, answer: Answer) -> None:
        term = self.leaders

        def decide() -> None:
            if self.is_stalled:
                self._stalled.append(decide)
            elif self.leader is None or not member.takes_part or term != self.leaders:
                self._leave_open(commit, answer)
            else:
                commit()

        def commit() -> None:
            self.writer = sent
            found: Any
            try:
                found = operation()
            except Refused as refused:
                found = refused
            self.spread()
            member.when_applied(self.history.revision, lambda: member.do(lambda: answer(found)))

        self.world.after(self.world.rng.random() ** 3 * member.delay_seconds_max, decide)

    def _leave_open(self, commit: Callable[[], None], answer: Answer) -> None:
        """Somebody else may have heard of it, and has it done when there is a leader again; or nobody has."""
        match self.world.rng.randrange(3):
            case 0:
                self._undecided.append(commit)
            case 1:
                self._undecided.append(commit)
                answer(Refused("UNAVAILABLE", LEADER_CHANGED))
            case _:
                answer(Refused("UNAVAILABLE", NO_LEADER))

    def spread(self) -> None:
        for member in self.members:
            if member.takes_part:
                member.follow()

    def look(self) -> None:
        """Whether there is still a leader; if not, one is elected as soon as there are enough to do so."""
        if self.leader is not None and self.leader.takes_part and self._is_quorum:
            return
        if self.leader is not None:
            self.leader = None
            self.note_state()
            for member in self.members:
                self.world.after(LEADERLESS_SECONDS, member._end_leaderless)
        self.world.after(self.world.rng.uniform(*ELECTION_SECONDS), self._elect)

    @property
    def _is_quorum(self) -> bool:
        return sum(member.takes_part for member in self.members) * 2 > len(self.members)

    def _elect(self) -> None:
        if self.leader is not None or not self._is_quorum:
            return
        self.leader = self.world.rng.choice([member for member in self.members if member.takes_part])
        self.leaders += 1
        self.note_state()
        self.world.note(f"etcd: member {self.leader.number} leads")
        for lease in self.history.leases.values():
            lease.ends = max(lease.ends, self.world.now() + lease.seconds)
        undecided, self._undecided = self._undecided, []
        for commit in undecided:
            if self.world.rng.random() < 0.5:
                commit()
        self.spread()

    def _expire(self) -> None:
        if self.leader is not None and not self.is_stalled:
            self.writer = NOBODY
            before = self.history.revision
            self.history.expire(self.world.now())
            if self.history.revision != before:
                self.spread()
        self.world.after(EXPIRY_SECONDS, self._expire)
