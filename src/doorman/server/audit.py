"""The audit log: who did what, when, with which outcome. One JSON line a request, in the shape of Kubernetes' events.

At the level Metadata: no bodies, so no secret, token or key is ever in it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from doorman.api.identity import User
from doorman.base.clock import Clock
from doorman.base.instants import to_micro_time
from doorman.server.request import Request, RequestInfo, Response
from doorman.server.subresources.reviews import user_info

FLUSH_SECONDS: Final = 0.2
_encode: Final = msgspec.json.Encoder().encode

Later = Callable[[float, Callable[[], None]], object]
"""Has something called after so many seconds: the event loop's `call_later`."""


class AuditLog:
    def __init__(self, file: Path, clock: Clock, later: Later) -> None:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._out = os.fdopen(descriptor, "ab")
        self._clock = clock
        self._later = later
        self._is_flush_due = False

    def begin(self, request: Request) -> "AuditEntry":
        return AuditEntry(request, self._clock.now())

    def finish(self, entry: "AuditEntry", response: Response, audit_id: str) -> None:
        stage = "ResponseStarted" if response.stream is not None else "ResponseComplete"
        event = event_of(entry, response.status, audit_id, stage, to_micro_time(self._clock.now()))
        self._out.write(_encode(event) + b"\n")
        if not self._is_flush_due:
            self._is_flush_due = True
            self._later(FLUSH_SECONDS, self._flush)

    def close(self) -> None:
        self._out.close()

    def _flush(self) -> None:
        self._is_flush_due = False
        if not self._out.closed:
            self._out.flush()


class AuditEntry:
    """What is learned about a request on its way."""

    __slots__ = ("acting_as", "annotations", "info", "is_allowed", "received", "request", "user")

    def __init__(self, request: Request, received: float) -> None:
        self.request = request
        self.received = received
        self.info: RequestInfo | None = None
        self.user: User | None = None
        self.acting_as: User | None = None
        self.annotations: dict[str, str] = {}
        self.is_allowed = False
        """Whether authorization let it in, whatever admission said then."""


def event_of(
    entry: AuditEntry, code: int, audit_id: str, stage: str, stamp: str
) -> dict[str, Any]:  # an audit.k8s.io/v1 Event
    request, info = entry.request, entry.info
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": audit_id,
        "stage": stage,
        "requestURI": f"{request.path}?{request.query.raw}" if request.query.raw else request.path,
        "verb": info.verb if info is not None else request.method.lower(),
        "user": user_info(entry.user) if entry.user is not None else {},
    }
    if entry.acting_as is not None:
        event["impersonatedUser"] = user_info(entry.acting_as)
    if request.client:
        event["sourceIPs"] = [request.client]
    if "user-agent" in request.headers:
        event["userAgent"] = request.headers["user-agent"]
    if info is not None and info.is_resource:
        event["objectRef"] = _object_ref(info)
    event["responseStatus"] = {"metadata": {}, "code": code}
    event["requestReceivedTimestamp"] = to_micro_time(entry.received)
    event["stageTimestamp"] = stamp
    if code != 401 and entry.user is not None:
        event["annotations"] = {
            **entry.annotations,
            "authorization.k8s.io/decision": "allow" if entry.is_allowed else "forbid",
        }
    return event


def _object_ref(info: RequestInfo) -> dict[str, str]:
    found = {
        "resource": info.resource,
        "namespace": info.namespace,
        "name": info.name,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "subresource": info.subresource,
    }
    return {name: value for name, value in found.items() if value}
