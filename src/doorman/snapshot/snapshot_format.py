"""A snapshot as a value: when it was taken, of what, and every object as one line of JSON.

Objects are kept as bytes: a hundred thousand of them as dictionaries would fill the memory. A line is a whole object
with `apiVersion` and `kind`; lines are in order of kind, namespace and name, so that two files can be compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.api.well_known import FILES_API_VERSION, KUBERNETES_VERSION
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_micro_time
from doorman.base.json_types import Document

KIND: Final = "Snapshot"
VERSION: Final = 1
"""Of the format. A file of another one is refused."""

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder(order="sorted").encode


class SnapshotError(Exception):
    """A file, or what is in it, that cannot be taken up; in one line, with a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    taken_at: Instant
    objects: tuple[bytes, ...]
    server_version: str = KUBERNETES_VERSION
    redacted: bool = False
    dangling: frozenset[str] = frozenset()
    """Objects, as `Kind namespace/name`, whose references led nowhere in the cluster itself."""

    def documents(self) -> Iterator[Document]:
        """Fresh ones, each time."""
        return map(_decode, self.objects)


def snapshot_of(
    documents: Iterable[Document],
    taken_at: Instant,
    *,
    server_version: str = KUBERNETES_VERSION,
    redacted: bool = False,
    dangling: Iterable[str] = (),
) -> Snapshot:
    """Of whole objects, in any order."""
    lines = sorted((_place(doc), _encode(doc)) for doc in documents)
    return Snapshot(
        taken_at=taken_at,
        objects=tuple(line for _, line in lines),
        server_version=server_version,
        redacted=redacted,
        dangling=frozenset(dangling),
    )


def to_lines(snapshot: Snapshot) -> Iterator[bytes]:
    """The file, line by line."""
    header = {
        "apiVersion": FILES_API_VERSION,
        "kind": KIND,
        "version": VERSION,
        "takenAt": to_micro_time(snapshot.taken_at),
        "serverVersion": snapshot.server_version,
        "redacted": snapshot.redacted,
        "objects": len(snapshot.objects),
        "danglingReferences": sorted(snapshot.dangling),
    }
    yield msgspec.json.encode(header)
    yield from snapshot.objects


def is_header(first: bytes) -> bool:
    """Whether a file that begins with this line is a snapshot, of whatever version."""
    try:
        found = _decode(first)
    except msgspec.DecodeError:
        return False
    return isinstance(found, dict) and found.get("kind") == KIND


def from_lines(lines: list[bytes], source: str) -> Snapshot:
    """Of the lines of a file whose first is a header."""
    header: Mapping[str, Any] = _decode(lines[0])
    version = header.get("version")
    if header.get("apiVersion") != FILES_API_VERSION or version != VERSION:
        raise SnapshotError(
            f"{source} is a snapshot of another version: {header.get('apiVersion')} {version}, not {VERSION}",
            "save it again with this version of doorman",
        )
    objects = tuple(line for line in lines[1:] if line.strip())
    if header.get("objects", len(objects)) != len(objects):
        raise SnapshotError(
            f"{source} holds {len(objects)} objects where its first line says {header['objects']}",
            "the file was cut short or edited; save it again, or mend the number in its first line",
        )
    try:
        return Snapshot(
            taken_at=from_time(str(header.get("takenAt"))),
            objects=objects,
            server_version=str(header.get("serverVersion", "")),
            redacted=bool(header.get("redacted")),
            dangling=frozenset(map(str, header.get("danglingReferences") or ())),
        )
    except ValueError as error:
        raise SnapshotError(f"{source} does not say when it was taken: {error}", "save it again") from error


def name_of(doc: Document) -> str:
    """`Pod default/web-1`: how an object is called in messages."""
    metadata = doc.get("metadata") or {}
    space = metadata.get("namespace", "")
    return f"{doc.get('kind', '')} {space + '/' if space else ''}{metadata.get('name', '')}"


def _place(doc: Document) -> tuple[str, str, str, str]:
    metadata = doc["metadata"]
    return doc["kind"], metadata.get("namespace", ""), metadata["name"], doc["apiVersion"]
