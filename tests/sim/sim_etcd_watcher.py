"""One watch at a member of a simulated etcd: it tells what the member has applied."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from doorman.store.etcd.etcd_messages import MESSAGES
from sim.sim_etcd import Message

if TYPE_CHECKING:
    from sim.sim_etcd_members import SimMember

Answer = Callable[[Any], None]
"""Takes a message, or `Refused`."""


class Watcher:
    """One watch at a member."""

    def __init__(self, member: "SimMember", request: Message, send: Answer) -> None:
        self._member = member
        self._key, self._end = request.key, request.range_end
        self._next = request.start_revision
        self._send = send

    def begin(self) -> None:
        header = self._member.header()
        self._send(MESSAGES["WatchResponse"](header=header, created=True))
        compacted = self._member.compacted
        if self._next < compacted:
            self.end(MESSAGES["WatchResponse"](header=header, canceled=True, compact_revision=compacted))
        else:
            self.push()

    def push(self) -> None:
        """What the member has applied and this watch has not told. A transaction is told whole, though not always in
        one message; and several may be told in one.
        """
        rng, gathered = self._member.etcd.world.rng, list[Message]()
        for _, events in self._member.etcd.history.events(self._next, self._member.applied):
            gathered += [event for event in events if self._key <= event.kv.key < self._end]
            if gathered and rng.random() < 0.8:
                self._tell(gathered)
                gathered = []
        self._tell(gathered)
        self._next = max(self._next, self._member.applied + 1)

    def _tell(self, events: list[Message]) -> None:
        rng = self._member.etcd.world.rng
        while len(events) > 1 and rng.random() < 0.3:
            part = MESSAGES["WatchResponse"](header=self._member.header(), fragment=True, events=events[:1])
            self._send(part)
            events = events[1:]
        if events:
            self._send(MESSAGES["WatchResponse"](header=self._member.header(), events=events))

    def tell_progress(self) -> None:
        self._send(MESSAGES["WatchResponse"](header=self._member.header()))

    def end(self, last: Any) -> None:  # a message, or Refused
        if self in self._member.watchers:
            self._member.watchers.remove(self)
            self._send(last)
