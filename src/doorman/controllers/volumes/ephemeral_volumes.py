"""ephemeral-volume-controller: makes the claims of pods' ephemeral volumes. Keys are those of pods."""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.views.pods import Pod, Volume
from doorman.api.views.storage.persistent_volumes import CLAIMS, PersistentVolumeClaim
from doorman.base.clock import Instant
from doorman.client.actions import Action, Create, ObjectReference, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.semantics.volumes.pod_volumes import claim_name, ownership_fault

NAME: Final = "ephemeral-volume-controller"
COMPONENT: Final = "ephemeral_volume"
WORKERS: Final = 5


def pod_keys(change: ObjectChange) -> Iterable[str]:
    pod: Pod | None = change.new
    if pod is None or change.old is not None or not any(volume.ephemeral is not None for volume in pod.spec.volumes):
        return ()
    return (pod.metadata.key,)


def claim_keys(change: ObjectChange) -> Iterable[str]:
    """A claim that was deleted is made again while its pod is there."""
    if change.new is not None:
        return ()
    meta = change.old.metadata
    return [f"{meta.namespace}/{owner.name}" for owner in meta.owner_references if owner.kind == "Pod"]


SOURCES: Final = (Source("pods", pod_keys), Source(CLAIMS, claim_keys))


def decide_claim(pod: Pod, volume: Volume, existing: PersistentVolumeClaim | None) -> list[Action]:
    assert volume.ephemeral is not None, "only such volumes have claims made"
    meta = pod.metadata
    if existing is not None:
        fault = ownership_fault(pod, existing)
        if not fault:
            return []
        regarding = ObjectReference(
            kind="Pod", api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid
        )  # fmt: skip
        text = f"ephemeral volume {volume.name}: {fault}"
        event = RecordEvent(
            regarding=regarding, type="Warning", reason="EphemeralVolumeFailed", message=text, component=COMPONENT
        )
        return [event]
    template = volume.ephemeral.volume_claim_template
    owner = {
        "apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid, "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    made: dict[str, Any] = {"name": claim_name(pod, volume), "ownerReferences": [owner]}
    for member in ("labels", "annotations"):
        if template.get("metadata", {}).get(member):
            made[member] = template["metadata"][member]
    body = {"metadata": made, "spec": template.get("spec", {})}
    return [Create(resource=CLAIMS, namespace=meta.namespace, body=body)]


class EphemeralVolumeController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, pods: ListerOf[Pod], claims: ListerOf[PersistentVolumeClaim]) -> None:
        self._pods = pods
        self._claims = claims

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change tries again."""

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp:
            return DONE
        actions: list[Action] = []
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                existing = self._claims.get(f"{pod.metadata.namespace}/{claim_name(pod, volume)}")
                actions += decide_claim(pod, volume, existing)
        return Result(actions=actions)
