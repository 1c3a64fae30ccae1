"""The client of an etcd cluster.

There is one channel a member, and one member at a time that is asked. A call that a member does not answer in time, or
that finds nobody there, moves on to the next: spread over all members, one that hangs would hold up every caller.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any, Final

from doorman.store.etcd.etcd_messages import MESSAGES, swap_request
from doorman.store.etcd.etcd_tls import EtcdTls
from doorman.store.etcd.grpc_channel import GrpcChannel, GrpcError, GrpcStream

CALL_SECONDS_MAX: Final = 2.0
PROBE_SECONDS_MAX: Final = 1.0
LOAD_SECONDS_MAX: Final = 60.0
_ELSEWHERE: Final = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")
"""What another member may answer. A call that ended so may have been done all the same."""

_log: Final = logging.getLogger("doorman.etcd")

ProtoMessage = Any
"""Of `MESSAGES`."""


class EtcdError(Exception):
    """What etcd said instead of an answer, by gRPC's name for it."""

    def __init__(self, code: str, text: str, *, is_unsent: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.is_unsent = is_unsent
        """It was not done for certain: there was nobody to send it to."""

    @property
    def is_undecided(self) -> bool:
        """Whether what was asked may have been done, or may be done elsewhere."""
        return self.code in _ELSEWHERE

    def __str__(self) -> str:
        return f"rpc error: code = {_go_name(self.code)} desc = {self.args[0]}"


class _Member:
    """One member: its address and the channels to it."""

    def __init__(self, url: str, tls: EtcdTls) -> None:
        scheme, _, self.address = url.rstrip("/").partition("://")
        if scheme == "https":
            tls.context()  # what cannot be read is told at once
        make_tls = tls.context if scheme == "https" else None
        self.calls = GrpcChannel(self.address, make_tls)
        self.watches = GrpcChannel(self.address, make_tls)
        """Of its own: a large replay does not delay transactions."""
        self.is_ours = False
        """It was asked, and belongs to the cluster that is served."""

    async def call(self, method: str, request: bytes, answer: str, seconds: float) -> ProtoMessage:
        try:
            told = await self.calls.call(f"/etcdserverpb.{method}", request, seconds)
        except GrpcError as error:
            raise _error_of(error) from error
        return MESSAGES[answer].FromString(told)

    async def close(self) -> None:
        await self.calls.close()
        await self.watches.close()


class EtcdClient:
    def __init__(self, urls: Sequence[str], tls: EtcdTls | None = None) -> None:
        self._members = [_Member(url, tls or EtcdTls()) for url in urls]
        self._current = 0
        self._cluster_id = 0
        self._watches: dict[GrpcStream, int] = {}
        """With the member that each is open at."""

    @property
    def current(self) -> str:
        """The address of the member that is asked."""
        return self._members[self._current].address

    async def range(
        self,
        key: bytes,
        end: bytes = b"",
        *,
        limit: int = 0,
        revision: int = 0,
        seconds: float = CALL_SECONDS_MAX,
    ) -> ProtoMessage:
        """Linearizable. Repeated elsewhere when a member does not answer."""
        request = MESSAGES["RangeRequest"](key=key, range_end=end, limit=limit, revision=revision)
        return await self._repeated("KV/Range", request.SerializeToString(), "RangeResponse", seconds)

    async def changed(self, key: bytes, end: bytes, revision: int) -> ProtoMessage:
        """Keys that were written after a revision, and how many keys there are in all."""
        request = MESSAGES["RangeRequest"](key=key, range_end=end, min_mod_revision=revision + 1, keys_only=True)
        return await self._repeated("KV/Range", request.SerializeToString(), "RangeResponse", LOAD_SECONDS_MAX)

    async def swap(
        self,
        key: bytes,
        value: bytes | None,
        expected: int,
        lease: int = 0,
        beside: Sequence[tuple[bytes, bytes, int]] = (),
    ) -> ProtoMessage:
        """Put, or delete, if the key is at that revision; else the answer has what is there. Asked once: a call that
        fails undecided may have been done. What is beside, keys with values and revisions, is put if all are at theirs.
        """
        request = swap_request(key, value, expected, lease, beside)
        return await self._once("KV/Txn", request, "TxnResponse", CALL_SECONDS_MAX)

    async def transact(self, request: ProtoMessage) -> ProtoMessage:
        return await self._once("KV/Txn", request.SerializeToString(), "TxnResponse", CALL_SECONDS_MAX)

    async def compact(self, revision: int) -> None:
        request = MESSAGES["CompactionRequest"](revision=revision).SerializeToString()
        await self._once("KV/Compact", request, "CompactionResponse", LOAD_SECONDS_MAX)

    async def grant(self, seconds: int) -> ProtoMessage:
        request = MESSAGES["LeaseGrantRequest"](TTL=seconds).SerializeToString()
        return await self._once("Lease/LeaseGrant", request, "LeaseGrantResponse", CALL_SECONDS_MAX)

    def serve(self, cluster_id: int) -> None:
        """What is read is of this cluster: members of another are not asked, whatever they are needed for."""
        if cluster_id != self._cluster_id:
            self._cluster_id = cluster_id
            for member in self._members:
                member.is_ours = False

    async def versions(self) -> list[str]:
        """Of the members that answer. Raises EtcdError when they are of several clusters."""
        asked = [self._status(member) for member in self._members]
        found = await asyncio.gather(*asked, return_exceptions=True)
        known = [
            (member.address, one)
            for member, one in zip(self._members, found, strict=True)
            if not isinstance(one, BaseException)
        ]
        for address, one in known[1:]:
            if one.header.cluster_id != known[0][1].header.cluster_id:
                raise EtcdError("FAILED_PRECONDITION", f"{known[0][0]} and {address} are of different clusters")
        return [one.version for _, one in known]

    async def is_alive(self) -> bool:
        """Whether the member that is asked answers; if not, the next one is asked from now on."""
        try:
            await self._status(self._members[self._current])
        except EtcdError:
            self._move_on(self._current)
            return False
        return True

    async def watch(
        self, key: bytes, end: bytes, start: int, opened: Callable[["Watching"], None]
    ) -> AsyncGenerator[list[ProtoMessage], None]:
        """Answers, all that have come by the time they are asked for, beginning at a revision, until the stream ends,
        which raises EtcdError.
        """
        number = self._current
        create = MESSAGES["WatchCreateRequest"](
            key=key, range_end=end, start_revision=start, progress_notify=True, fragment=True
        )
        first = MESSAGES["WatchRequest"](create_request=create).SerializeToString()
        stream: GrpcStream | None = None
        try:
            # A member that is cut off from the others ends the stream instead of saying nothing.
            metadata = {"hasleader": "true"}
            channel = self._members[number].watches
            stream = await channel.stream("/etcdserverpb.Watch/Watch", metadata, first, CALL_SECONDS_MAX)
            self._watches[stream] = number
            opened(Watching(stream))
            while True:
                yield read_together(await stream.read())
        except GrpcError as error:
            self._move_on(number)
            raise _error_of(error) from error
        finally:
            if stream is not None:
                self._watches.pop(stream, None)
                stream.cancel()

    async def close(self) -> None:
        for member in self._members:
            await member.close()

    async def _status(self, member: _Member) -> ProtoMessage:
        return await member.call("Maintenance/Status", b"", "StatusResponse", PROBE_SECONDS_MAX)

    async def _recognize(self, member: _Member) -> None:
        """A member that has not been asked before may be of another cluster, where nothing of ours is."""
        if self._cluster_id:
            found = (await self._status(member)).header.cluster_id
            if found != self._cluster_id:
                _log.error("etcd member %s is of another cluster, and is not asked", member.address)
                raise EtcdError("UNAVAILABLE", f"a member of another cluster: {member.address}", is_unsent=True)
            member.is_ours = True

    async def _once(self, method: str, request: bytes, answer: str, seconds: float) -> ProtoMessage:
        number = self._current
        try:
            if not self._members[number].is_ours:
                await self._recognize(self._members[number])
            asked = self._members[number].call(method, request, answer, seconds)
            return await (self._attended(self._members[number], asked) if seconds > CALL_SECONDS_MAX else asked)
        except EtcdError as error:
            if error.is_undecided:
                self._move_on(number)
            raise

    async def _attended(self, member: _Member, asked: Coroutine[Any, Any, ProtoMessage]) -> ProtoMessage:
        """An answer that may take long, for as long as the member is there: one that hangs is given up soon."""
        answering = asyncio.create_task(asked)
        try:
            while not (await asyncio.wait((answering,), timeout=CALL_SECONDS_MAX))[0]:
                await self._status(member)
            return await answering
        finally:
            answering.cancel()

    async def _repeated(self, method: str, request: bytes, answer: str, seconds: float) -> ProtoMessage:
        """Each member is asked before it is given up."""
        for _ in self._members[1:]:
            try:
                return await self._once(method, request, answer, seconds)
            except EtcdError as error:
                if not error.is_undecided:
                    raise
        return await self._once(method, request, answer, seconds)

    def _move_on(self, number: int) -> None:
        """From a member that did not answer; whoever was told the same meanwhile moves no further. Watches move, too:
        it would take longer to notice that one which hangs tells nothing.
        """
        if self._current == number and len(self._members) > 1:
            self._current = (number + 1) % len(self._members)
            _log.warning("etcd member %s does not answer; asking %s", self._members[number].address, self.current)
            for stream in [one for one, at in self._watches.items() if at == number]:
                stream.give_up("the member does not answer")


def read_together(messages: Sequence[bytes]) -> list[ProtoMessage]:
    """Answers of a watch, those that only tell of events as one: protobuf's messages are merged by being written one
    after the other. The last stands by itself, since it says how far the watch is.
    """
    *before, last = messages
    if len(before) > 1:
        merged = _read_watch(b"".join(before))
        if not (merged.created or merged.canceled or merged.fragment):
            return [merged, _read_watch(last)]
    return [_read_watch(message) for message in messages]


class Watching:
    """An open watch, to be asked how far it is."""

    def __init__(self, stream: GrpcStream) -> None:
        self._stream = stream

    def ask_for_progress(self) -> None:
        self._stream.write(_PROGRESS_REQUEST)

    async def rest(self, seconds: float) -> None:
        """What comes meanwhile is told together."""
        await self._stream.rest(seconds)


_read_watch: Final = MESSAGES["WatchResponse"].FromString
_PROGRESS_REQUEST: Final = MESSAGES["WatchRequest"](
    progress_request=MESSAGES["WatchProgressRequest"]()
).SerializeToString()


def _error_of(error: GrpcError) -> EtcdError:
    return EtcdError(error.code, error.text, is_unsent=error.is_unsent)


def _go_name(code: str) -> str:
    """
    >>> _go_name("RESOURCE_EXHAUSTED")
    'ResourceExhausted'
    """
    return "".join(part.capitalize() for part in code.split("_"))
