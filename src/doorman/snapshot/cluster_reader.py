"""A snapshot of a running cluster, read over HTTP: lists in chunks, nothing else. Any Kubernetes will do.

A kind that the server does not serve, or does not show, is left out; nodes and pods must be there.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, builtin_kinds
from doorman.api.well_known import KUBERNETES_VERSION, LEASES, NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.command_line.http_client import HttpClient
from doorman.snapshot.redaction import redacted
from doorman.snapshot.references import References
from doorman.snapshot.snapshot_file import newest_time
from doorman.snapshot.snapshot_format import Snapshot, snapshot_of
from doorman.snapshot.snapshot_kinds import deciding_kinds, is_wanted

CHUNK_OBJECTS: Final = 500
ATTEMPTS_MAX: Final = 3
"""To list one kind: a list that takes too long is begun anew."""
REQUIRED: Final = ("nodes", "pods")
CLOCK_DIFFERENCE_SECONDS_MAX: Final = 60.0
"""A server whose newest lease is further than this from our clock has another one."""

Told = Callable[[str, int], None]
"""Told a resource and how many of its objects have been read."""


def read_cluster(
    client: HttpClient, now: Instant, *, redacts: bool = True, told: Told = lambda _resource, _count: None
) -> Snapshot:
    """`now` is when, by our own clock. Raises ApiError and Unreachable."""
    references = References()
    leases: list[Document] = []

    def documents() -> Iterator[Document]:
        for kind in deciding_kinds():
            count = 0
            for doc in _listed(client, kind):
                if is_wanted(kind, doc["metadata"].get("namespace", "")):
                    references.see(doc)
                    if kind.storage == LEASES:
                        leases.append(doc)
                    count += 1
                    yield redacted(doc) if redacts else doc
            told(kind.resource, count)

    snapshot = snapshot_of(documents(), now, server_version=_version(client), redacted=redacts)
    return msgspec.structs.replace(
        snapshot,
        taken_at=_taken_at(leases, now),
        dangling=frozenset(name for name, _ in references.broken()),
    )


def _taken_at(leases: list[Document], now: Instant) -> Instant:
    """Our clock, unless the server's is another: then what its nodes last said."""
    newest = newest_time(leases) if leases else now
    return now if 0 <= now - newest <= CLOCK_DIFFERENCE_SECONDS_MAX else newest


def _listed(client: HttpClient, kind: Kind) -> Iterator[Document]:
    for row in _versions(kind):
        try:
            yield from _in_version(client, row)
            return
        except ApiError as error:
            if error.code not in (403, 404) or (kind.resource in REQUIRED and error.code != 404):
                raise
    if kind.resource in REQUIRED:
        raise ApiError(404, "NotFound", f"the server does not serve {kind.resource}")


def _versions(kind: Kind) -> list[Kind]:
    """Ours first, then others that older servers have."""
    rows = [row for row in builtin_kinds().rows if row.group_resource == kind.group_resource and "list" in row.verbs]
    return sorted(rows, key=lambda row: row.version != kind.version)


def _in_version(client: HttpClient, kind: Kind) -> Iterator[Document]:
    """All of a kind; nothing is given before all was read, so that a list may be begun anew."""
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            found = list(_chunks(client, kind))
        except ApiError as error:
            if error.code != 410 or attempt == ATTEMPTS_MAX:
                raise
        else:
            yield from found
            return


def _chunks(client: HttpClient, kind: Kind) -> Iterator[Document]:
    space = f"/namespaces/{NODE_LEASE_NAMESPACE}" if kind.storage == LEASES else ""
    query = {"limit": str(CHUNK_OBJECTS)}
    while True:
        answer: Mapping[str, Any] = client.request("GET", f"{kind.path}{space}/{kind.resource}", query=query)
        for item in answer.get("items") or ():
            yield {**item, "apiVersion": kind.group_version, "kind": kind.kind}
        following = (answer.get("metadata") or {}).get("continue")
        if not following:
            return
        query = {**query, "continue": following}


def _version(client: HttpClient) -> str:
    try:
        return str(client.request("GET", "/version").get("gitVersion", KUBERNETES_VERSION))
    except ApiError:
        return KUBERNETES_VERSION
