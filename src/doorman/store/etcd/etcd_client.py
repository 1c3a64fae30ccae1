"""The client of an etcd cluster: the one module that knows gRPC.

There is one channel a member, and one member at a time that is asked. A call that a member does not answer in time, or
that finds nobody there, moves on to the next: spread over all members, one that hangs would hold up every caller.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is told here, once, and not for every attempt

import grpc
import grpc.aio

from doorman.store.etcd.etcd_messages import BY_MOD_REVISION, EQUAL, MESSAGES
from doorman.store.etcd.etcd_tls import EtcdTls

CALL_SECONDS_MAX: Final = 2.0
PROBE_SECONDS_MAX: Final = 1.0
LOAD_SECONDS_MAX: Final = 60.0
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
_OWN_POOL: Final = ("grpc.use_local_subchannel_pool", 1)
"""For the watch: a large replay does not delay transactions."""

_ELSEWHERE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
"""What another member may answer. A call that ended so may have been done all the same."""

_OF_ANOTHER: Final = "a member of another cluster: "
_UNSENT: Final = ("failed to connect to all addresses", "errors resolving ", _OF_ANOTHER)
"""What an error says when nothing was sent."""

_log: Final = logging.getLogger("doorman.etcd")

Message = Any
"""Of `MESSAGES`."""


class EtcdError(Exception):
    """What etcd said instead of an answer, by gRPC's name for it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    @property
    def is_undecided(self) -> bool:
        """Whether what was asked may have been done, or may be done elsewhere."""
        return self.code in (code.name for code in _ELSEWHERE)

    @property
    def is_unsent(self) -> bool:
        """Whether it was not done for certain: there was nobody to send it to."""
        return self.code == grpc.StatusCode.UNAVAILABLE.name and str(self.args[0]).startswith(_UNSENT)

    def __str__(self) -> str:
        return f"rpc error: code = {_go_name(self.code)} desc = {self.args[0]}"


class _Member:
    """One member: its address and the channels to it."""

    def __init__(self, url: str, tls: EtcdTls) -> None:
        scheme, _, self.address = url.rstrip("/").partition("://")
        self._credentials = grpc.ssl_channel_credentials(*tls.read()) if scheme == "https" else None
        self.calls = self._channel()
        self.watches = self._channel(_OWN_POOL)
        self.is_ours = False
        """It was asked, and belongs to the cluster that is served."""
        self._methods: dict[str, Any] = {}  # as grpc makes them

    def _channel(self, *more: tuple[str, int]) -> grpc.aio.Channel:
        options = (*_OPTIONS, *more)
        if self._credentials is None:
            return grpc.aio.insecure_channel(self.address, options=options)
        return grpc.aio.secure_channel(self.address, self._credentials, options=options)

    async def call(self, method: str, request: Message, answer: str, seconds: float) -> Message:
        ask = self._methods.get(method)
        if ask is None:
            ask = self._methods[method] = self.calls.unary_unary(
                f"/etcdserverpb.{method}",
                request_serializer=type(request).SerializeToString,
                response_deserializer=MESSAGES[answer].FromString,
            )
        try:
            return await ask(request, timeout=seconds)
        except grpc.aio.AioRpcError as error:
            raise _error_of(error) from error

    async def close(self) -> None:
        await self.calls.close()
        await self.watches.close()


class EtcdClient:
    def __init__(self, urls: Sequence[str], tls: EtcdTls | None = None) -> None:
        self._members = [_Member(url, tls or EtcdTls()) for url in urls]
        self._current = 0
        self._cluster_id = 0

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
    ) -> Message:
        """Linearizable. Repeated elsewhere when a member does not answer."""
        request = MESSAGES["RangeRequest"](key=key, range_end=end, limit=limit, revision=revision)
        return await self._repeated("KV/Range", request, "RangeResponse", seconds)

    async def changed(self, key: bytes, end: bytes, revision: int) -> Message:
        """Keys that were written after a revision, and how many keys there are in all."""
        request = MESSAGES["RangeRequest"](key=key, range_end=end, min_mod_revision=revision + 1, keys_only=True)
        return await self._repeated("KV/Range", request, "RangeResponse", LOAD_SECONDS_MAX)

    async def swap(self, key: bytes, value: bytes | None, expected: int, lease: int = 0) -> Message:
        """Put, or delete, if the key is at that revision; else the answer has what is there. Asked once: a call that
        fails undecided may have been done.
        """
        compare = MESSAGES["Compare"](result=EQUAL, target=BY_MOD_REVISION, key=key, mod_revision=expected)
        if value is None:
            write = MESSAGES["RequestOp"](request_delete_range=MESSAGES["DeleteRangeRequest"](key=key))
        else:
            write = MESSAGES["RequestOp"](request_put=MESSAGES["PutRequest"](key=key, value=value, lease=lease))
        read = MESSAGES["RequestOp"](request_range=MESSAGES["RangeRequest"](key=key, limit=1))
        request = MESSAGES["TxnRequest"](compare=[compare], success=[write], failure=[read])
        return await self._once("KV/Txn", request, "TxnResponse", CALL_SECONDS_MAX)

    async def transact(self, request: Message) -> Message:
        return await self._once("KV/Txn", request, "TxnResponse", CALL_SECONDS_MAX)

    async def compact(self, revision: int) -> None:
        await self._once(
            "KV/Compact", MESSAGES["CompactionRequest"](revision=revision), "CompactionResponse", LOAD_SECONDS_MAX
        )

    async def grant(self, seconds: int) -> Message:
        return await self._once(
            "Lease/LeaseGrant", MESSAGES["LeaseGrantRequest"](TTL=seconds), "LeaseGrantResponse", CALL_SECONDS_MAX
        )

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
    ) -> AsyncGenerator[Message, None]:
        """Answers as they come, beginning at a revision, until the stream ends, which raises EtcdError."""
        number = self._current
        call = self._members[number].watches.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=MESSAGES["WatchRequest"].SerializeToString,
            response_deserializer=MESSAGES["WatchResponse"].FromString,
        )(metadata=(("hasleader", "true"),))
        try:
            create = MESSAGES["WatchCreateRequest"](
                key=key, range_end=end, start_revision=start, progress_notify=True, fragment=True
            )
            await call.write(MESSAGES["WatchRequest"](create_request=create))
            opened(Watching(call))
            while (answer := await call.read()) is not grpc.aio.EOF:
                yield answer
            raise EtcdError("UNAVAILABLE", "the watch was ended")
        except grpc.aio.AioRpcError as error:
            self._move_on(number)
            raise _error_of(error) from error
        finally:
            call.cancel()

    async def close(self) -> None:
        for member in self._members:
            await member.close()

    async def _status(self, member: _Member) -> Message:
        return await member.call("Maintenance/Status", MESSAGES["StatusRequest"](), "StatusResponse", PROBE_SECONDS_MAX)

    async def _recognize(self, member: _Member) -> None:
        """A member that has not been asked before may be of another cluster, where nothing of ours is."""
        if self._cluster_id:
            found = (await self._status(member)).header.cluster_id
            if found != self._cluster_id:
                _log.error("etcd member %s is of another cluster, and is not asked", member.address)
                raise EtcdError("UNAVAILABLE", _OF_ANOTHER + member.address)
            member.is_ours = True

    async def _once(self, method: str, request: Message, answer: str, seconds: float) -> Message:
        number = self._current
        try:
            if not self._members[number].is_ours:
                await self._recognize(self._members[number])
            return await self._members[number].call(method, request, answer, seconds)
        except EtcdError as error:
            if error.is_undecided:
                self._move_on(number)
            raise

    async def _repeated(self, method: str, request: Message, answer: str, seconds: float) -> Message:
        """Each member is asked before it is given up."""
        for _ in self._members[1:]:
            try:
                return await self._once(method, request, answer, seconds)
            except EtcdError as error:
                if not error.is_undecided:
                    raise
        return await self._once(method, request, answer, seconds)

    def _move_on(self, number: int) -> None:
        """From a member that did not answer; whoever was told the same meanwhile moves no further."""
        if self._current == number and len(self._members) > 1:
            self._current = (number + 1) % len(self._members)
            _log.warning("etcd member %s does not answer; asking %s", self._members[number].address, self.current)


class Watching:
    """An open watch, to be asked how far it is."""

    def __init__(self, call: Any) -> None:  # grpc's, of which the stubs know no more
        self._call = call

    async def ask_for_progress(self) -> None:
        await self._call.write(MESSAGES["WatchRequest"](progress_request=MESSAGES["WatchProgressRequest"]()))


def _error_of(error: grpc.aio.AioRpcError) -> EtcdError:
    return EtcdError(error.code().name, error.details() or "")


def _go_name(code: str) -> str:
    """
    >>> _go_name("RESOURCE_EXHAUSTED")
    'ResourceExhausted'
    """
    return "".join(part.capitalize() for part in code.split("_"))
