"""Claims and volumes that pods of a dump use and that the dump leaves out: not missing in the cluster.

A pod that runs has its volumes. Where its claim, or the claim's volume, was not saved, nobody knows from which nodes
the volume can be used: one stands in that can be used from all of them.
"""

from collections.abc import Iterator
from typing import Final

from doorman.api.volume_annotations import BIND_COMPLETED
from doorman.base.json_types import Document

PREFIX: Final = "left-out-"


class LeftOutClaims:
    """What was seen of pods, claims and volumes, one after another."""

    def __init__(self) -> None:
        self._claims: dict[str, tuple[str, str]] = {}
        """By key: uid, and the name of its volume."""
        self._volumes: set[str] = set()
        self._used: dict[str, None] = {}
        """Keys of claims that pods on nodes use."""

    def see(self, doc: Document) -> None:
        metadata, spec = doc["metadata"], doc.get("spec") or {}
        if doc["kind"] == "PersistentVolume":
            self._volumes.add(metadata["name"])
        elif doc["kind"] == "PersistentVolumeClaim":
            key = f"{metadata.get('namespace', '')}/{metadata['name']}"
            self._claims[key] = (metadata.get("uid", ""), spec.get("volumeName") or "")
        elif doc["kind"] == "Pod" and spec.get("nodeName"):
            for volume in spec.get("volumes") or ():
                name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
                if not name and volume.get("ephemeral") is not None:
                    name = f"{metadata['name']}-{volume.get('name')}"
                if name:
                    self._used[f"{metadata.get('namespace', '')}/{name}"] = None

    def stand_ins(self) -> Iterator[Document]:
        for key in self._used:
            if key not in self._claims:
                volume = PREFIX + key.replace("/", "-")
                self._claims[key] = (f"{volume}-claim", volume)
                yield _claim(key, f"{volume}-claim", volume)
        for key, (uid, volume) in self._claims.items():
            if volume and volume not in self._volumes:
                self._volumes.add(volume)
                yield _volume(volume, key, uid)


def _claim(key: str, uid: str, volume: str) -> Document:
    namespace, _, name = key.partition("/")
    metadata = {"namespace": namespace, "name": name, "uid": uid, "annotations": {BIND_COMPLETED: "yes"}}
    spec = {**_MODES, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume, "storageClassName": ""}
    status = {"phase": "Bound", **_MODES, "capacity": {"storage": "1Gi"}}
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status,
    }  # fmt: skip


def _volume(name: str, claim_key: str, claim_uid: str) -> Document:
    namespace, _, claim = claim_key.partition("/")
    reference = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim, "uid": claim_uid,
    }  # fmt: skip
    spec = {
        **_MODES,
        "capacity": {"storage": "1Gi"},
        "claimRef": reference,
        "persistentVolumeReclaimPolicy": "Retain",
        "nfs": {"server": "left-out.doorman.dev", "path": f"/{name}"},
    }
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": f"{name}-volume"},
        "spec": spec, "status": {"phase": "Bound"},
    }  # fmt: skip


_MODES: Final[Document] = {"accessModes": ["ReadWriteOnce"]}
