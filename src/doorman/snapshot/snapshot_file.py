"""Snapshots in files: JSON lines, with gzip when the name ends in `.gz`; and what `kubectl get … -o yaml|json` gives.

A dump by kubectl does not say when it was made. The newest time in it is taken for that: a lease's, when leases are in
it, since every node renews its own within seconds.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.base.json_types import Document
from doorman.snapshot.snapshot_format import Snapshot, SnapshotError, from_lines, is_header, snapshot_of, to_lines
from doorman.snapshot.snapshot_kinds import is_wanted, kind_of

GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP_LEVEL: Final = 6


class _Loader(yaml.CSafeLoader):
    """Times stay texts."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def save(snapshot: Snapshot, path: Path) -> None:
    """All of it or nothing: a file that was there before is replaced when the new one is complete."""
    data = b"".join(line + b"\n" for line in to_lines(snapshot))
    if path.suffix == ".gz":
        data = gzip.compress(data, GZIP_LEVEL, mtime=0)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise SnapshotError(f"{path} cannot be written: {error.strerror}", "is the folder there, and yours?") from error


def load(path: Path) -> Snapshot:
    """A snapshot, or a dump by kubectl. Raises `SnapshotError`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror}", "is the path right?") from error
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise SnapshotError(f"{path} is no complete gzip file: {error}", "save it again") from error
    return parse(data, str(path))


def parse(data: bytes, source: str) -> Snapshot:
    """What a file holds."""
    first = data.split(b"\n", 1)[0]
    if is_header(first):
        return from_lines(data.splitlines(), source)
    return from_documents(_documents(data, source), source)


def from_documents(documents: Iterator[Document], source: str) -> Snapshot:
    """A snapshot of objects that somebody has read, as they are now; of kinds that decide nothing they are left out."""
    kept: list[Document] = []
    for doc in documents:
        metadata = doc.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("name") or not isinstance(doc.get("apiVersion"), str):
            raise SnapshotError(
                f"{source} holds something that is no object: {str(doc)[:60]}", "dump with kubectl get … -A -o yaml"
            )
        kind = kind_of(doc["apiVersion"], str(doc.get("kind")))
        if kind is not None and is_wanted(kind, metadata.get("namespace", "")):
            kept.append(doc)
    if not any(doc["kind"] == "Node" for doc in kept):
        raise SnapshotError(
            f"{source} holds no nodes",
            "doorman snapshot save FILE, or kubectl get nodes,pods,deployments,replicasets,… -A -o yaml > FILE",
        )
    return snapshot_of(kept, newest_time(kept))


def newest_time(documents: list[Document]) -> Instant:
    """When objects were read, as far as they tell."""
    leases = [_micro(doc, "renewTime") for doc in documents if doc["kind"] == "Lease"]
    if any(leases):
        return max(leases)
    times = [_instant(doc["metadata"].get("creationTimestamp")) for doc in documents]
    for doc in documents:
        for condition in (doc.get("status") or {}).get("conditions") or ():
            times.append(_instant(condition.get("lastHeartbeatTime")))
            times.append(_instant(condition.get("lastTransitionTime")))
    return max(times)


def _documents(data: bytes, source: str) -> Iterator[Document]:
    for found in _parsed(data, source):
        if found is None:
            continue
        if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
            raise SnapshotError(
                f"{source} is neither a snapshot nor a dump of objects", "doorman snapshot save FILE makes one"
            )
        items = found.get("items")
        if found["kind"].endswith("List") and isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))
        else:
            yield found


def _parsed(data: bytes, source: str) -> Iterator[Any]:  # whatever a file holds
    if data.lstrip()[:1] == b"{":
        try:
            yield msgspec.json.decode(data)
            return
        except msgspec.DecodeError:
            pass  # several documents, or YAML that begins so
    try:
        yield from yaml.load_all(data, Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())
        raise SnapshotError(f"{source} is neither JSON nor YAML: {text}", "is it a snapshot or a dump?") from error


def _micro(doc: Document, member: str) -> Instant:
    return _instant((doc.get("spec") or {}).get(member))


def _instant(text: Any) -> Instant:  # a time, or nothing
    try:
        return from_time(text) if isinstance(text, str) and text else 0.0
    except ValueError:
        return 0.0
