"""What a simulated etcd holds: every version of every key in one order of revisions, and leases.

It knows nothing of members, time or the network: `sim_etcd_members.py` decides when something is done, and who hears of
it. Messages and errors are etcd's own.

    put a       -> revision 2    a: 2
    put b       -> revision 3    a: 2     b: 3
    delete a    -> revision 4    a: 2 4x  b: 3        a range at 3 has a, one at 4 has not
    compact 4                    a:       b: 3        a range at 3 is refused
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from doorman.store.etcd.etcd_messages import BY_MOD_REVISION, DELETE, MESSAGES, PUT

CLUSTER_ID = 7
COMPACTED = "etcdserver: mvcc: required revision has been compacted"
FUTURE = "etcdserver: mvcc: required revision is a future revision"
NO_SPACE = "etcdserver: mvcc: database space exceeded"
NO_LEASE = "etcdserver: requested lease not found"

Message = Any
"""Of `MESSAGES`."""


class Refused(Exception):
    """What etcd says instead of an answer, by gRPC's name for it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class _Lease:
    def __init__(self, ends: float, seconds: int) -> None:
        self.ends = ends
        self.seconds = seconds
        self.keys: dict[bytes, None] = {}


class EtcdHistory:
    def __init__(self) -> None:
        self.revision = 1
        self.compactions: list[tuple[int, int]] = []
        """At which revision was compacted, and up to which."""
        self.is_full = False
        self.leases: dict[int, _Lease] = {}
        self.on_events: Callable[[int, list[Message]], None] = lambda _revision, _events: None
        self._versions: dict[bytes, list[Message]] = {}
        """By key, oldest first; one without a version is a deletion."""
        self._events: dict[int, list[Message]] = {}
        self._lease_of: dict[bytes, int] = {}
        self._leases_made = 0

    def compacted_at(self, revision: int) -> int:
        """Up to where was compacted, for a member that has come to this revision."""
        return max((upto for at, upto in self.compactions if at <= revision), default=0)

    def events(self, first: int, last: int) -> Iterable[tuple[int, list[Message]]]:
        """By revision."""
        for revision in range(first, last + 1):
            if revision in self._events:
                yield revision, self._events[revision]

    # Reading.

    def range(self, request: Message, at: int) -> Message:
        """As a member answers it that has come to a revision."""
        wanted = request.revision or at
        if wanted > at:
            raise Refused("OUT_OF_RANGE", FUTURE)
        if wanted < self.compacted_at(at):
            raise Refused("OUT_OF_RANGE", COMPACTED)
        found = [kv for key in self._keys(request.key, request.range_end) if (kv := self._at(key, wanted)) is not None]
        count = len(found)
        if request.min_mod_revision:
            found = [kv for kv in found if kv.mod_revision >= request.min_mod_revision]
        has_more = bool(request.limit) and len(found) > request.limit
        if request.limit:
            found = found[: request.limit]
        if request.keys_only:
            found = [_without_value(kv) for kv in found]
        answer = MESSAGES["RangeResponse"](more=has_more, count=count, header=self.header(at))
        answer.kvs.extend(found)
        return answer

    def header(self, revision: int) -> Message:
        return MESSAGES["ResponseHeader"](cluster_id=CLUSTER_ID, revision=revision)

    def _keys(self, key: bytes, end: bytes) -> Iterable[bytes]:
        if not end:
            return (key,) if key in self._versions else ()
        return sorted(each for each in self._versions if key <= each < end)

    def _at(self, key: bytes, revision: int) -> Message | None:
        versions = self._versions.get(key, [])
        place = bisect_right(versions, revision, key=lambda kv: kv.mod_revision)
        found = versions[place - 1] if place else None
        return found if found is not None and found.version else None

    # Writing.

    def transact(self, request: Message) -> Message:
        operations = [*request.success, *request.failure]
        if self.is_full and any(each.HasField("request_put") for each in operations):
            raise Refused("RESOURCE_EXHAUSTED", NO_SPACE)
        for each in operations:
            if each.HasField("request_put") and each.request_put.lease and each.request_put.lease not in self.leases:
                raise Refused("NOT_FOUND", NO_LEASE)
        is_so = all(self._holds(compare) for compare in request.compare)
        events: list[Message] = []
        answers: list[Message] = []
        for each in request.success if is_so else request.failure:
            if each.HasField("request_range"):
                found = self.range(each.request_range, self.revision)
                answers.append(MESSAGES["ResponseOp"](response_range=found))
            elif each.HasField("request_put"):
                events.append(self._put(each.request_put))
                answers.append(MESSAGES["ResponseOp"](response_put=MESSAGES["PutResponse"]()))
            else:
                gone = self._delete(each.request_delete_range.key)
                events += gone
                deleted = MESSAGES["DeleteRangeResponse"](deleted=len(gone))
                answers.append(MESSAGES["ResponseOp"](response_delete_range=deleted))
        self._publish(events)
        return MESSAGES["TxnResponse"](header=self.header(self.revision), succeeded=is_so, responses=answers)

    def compact(self, request: Message) -> Message:
        if request.revision <= self.compacted_at(self.revision):
            raise Refused("OUT_OF_RANGE", COMPACTED)
        if request.revision > self.revision:
            raise Refused("OUT_OF_RANGE", FUTURE)
        self.compactions.append((self.revision, request.revision))
        return MESSAGES["CompactionResponse"](header=self.header(self.revision))

    def grant(self, request: Message, now: float) -> Message:
        if self.is_full:
            raise Refused("RESOURCE_EXHAUSTED", NO_SPACE)
        self._leases_made += 1
        self.leases[self._leases_made] = _Lease(now + request.TTL, request.TTL)
        header = self.header(self.revision)
        return MESSAGES["LeaseGrantResponse"](header=header, ID=self._leases_made, TTL=request.TTL)

    def expire(self, now: float) -> None:
        """The keys of a lease go together, at one revision."""
        for number in [number for number, lease in self.leases.items() if lease.ends <= now]:
            lease = self.leases.pop(number)
            self._publish([event for key in lease.keys for event in self._delete(key)])

    def _holds(self, compare: Message) -> bool:
        kv = self._at(compare.key, self.revision)
        if compare.target == BY_MOD_REVISION:
            return (kv.mod_revision if kv is not None else 0) == int(compare.mod_revision)
        return (kv.version if kv is not None else 0) == int(compare.version)

    def _put(self, request: Message) -> Message:
        before = self._at(request.key, self.revision)
        revision = self.revision + 1
        kv = MESSAGES["KeyValue"](
            key=request.key, value=request.value, mod_revision=revision, lease=request.lease,
            create_revision=before.create_revision if before is not None else revision,
            version=before.version + 1 if before is not None else 1,
        )  # fmt: skip
        self._attach(request.key, request.lease)
        self._versions.setdefault(request.key, []).append(kv)
        return MESSAGES["Event"](type=PUT, kv=kv)

    def _delete(self, key: bytes) -> list[Message]:
        if self._at(key, self.revision) is None:
            return []
        kv = MESSAGES["KeyValue"](key=key, mod_revision=self.revision + 1)
        self._attach(key, 0)
        self._versions[key].append(kv)
        return [MESSAGES["Event"](type=DELETE, kv=kv)]

    def _attach(self, key: bytes, lease: int) -> None:
        old = self.leases.get(self._lease_of.pop(key, 0))
        if old is not None:
            old.keys.pop(key, None)
        if lease:
            self.leases[lease].keys[key] = None
            self._lease_of[key] = lease

    def _publish(self, events: list[Message]) -> None:
        if events:
            self.revision += 1
            self._events[self.revision] = events
            self.on_events(self.revision, events)


def _without_value(kv: Message) -> Message:
    other = MESSAGES["KeyValue"]()
    other.CopyFrom(kv)
    other.ClearField("value")
    return other
