"""References between the objects of a snapshot: who owns whom, and which node a pod is on.

A reference that leads nowhere would change what the cluster does: the garbage collectors delete what has lost its owner
or its node. In the cluster itself that happens for a moment; in a file it means that something was left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from doorman.base.json_types import Document
from doorman.snapshot.snapshot_format import SnapshotError, name_of
from doorman.snapshot.snapshot_kinds import kind_of

SHOWN_MAX: Final = 3


class References:
    """What was seen of objects, one after another."""

    def __init__(self) -> None:
        self._uids: set[str] = set()
        self._nodes: set[str] = set()
        self._owners: list[tuple[str, str, str]] = []
        """Of an object: its name, its owner's, its owner's uid."""
        self._placed: list[tuple[str, str]] = []

    def see(self, doc: Document) -> None:
        metadata = doc["metadata"]
        self._uids.add(metadata.get("uid", ""))
        if doc["kind"] == "Node":
            self._nodes.add(metadata["name"])
        name = name_of(doc)
        for owner in metadata.get("ownerReferences") or ():
            if is_owner_expected(owner):
                self._owners.append((name, f"{owner.get('kind')} {owner.get('name')}", owner.get("uid", "")))
        node = (doc.get("spec") or {}).get("nodeName") if doc["kind"] == "Pod" else ""
        if node:
            self._placed.append((name, node))

    def broken(self) -> Iterator[tuple[str, str]]:
        """Objects, and what they refer to in vain."""
        for name, node in self._placed:
            if node not in self._nodes:
                yield name, f"Node {node}"
        for name, owner, uid in self._owners:
            if uid not in self._uids:
                yield name, owner


def is_owner_expected(owner: Any) -> bool:  # an owner reference
    """Whether an owner is of a kind that snapshots hold."""
    return kind_of(str(owner.get("apiVersion", "")), str(owner.get("kind", ""))) is not None


def check(broken: Iterable[tuple[str, str]], accepted: Iterable[str]) -> None:
    """Raise `SnapshotError` for those that were not broken in the cluster itself."""
    known = set(accepted)
    found = [f"{name} refers to {missing}" for name, missing in broken if name not in known]
    if found:
        more = f" and {len(found) - SHOWN_MAX} more" if len(found) > SHOWN_MAX else ""
        raise SnapshotError(
            f"references lead nowhere: {', '.join(found[:SHOWN_MAX])}{more}",
            "dump all kinds of all namespaces together, as `doorman snapshot save` does",
        )
