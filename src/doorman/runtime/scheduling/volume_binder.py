"""Writes what the scheduler has decided about volumes before a pod is bound, and waits until they are bound.

As kube-scheduler does it: volumes are given to their claims, claims are told the node for which a volume is to be made,
and then the pod waits until the controller that binds, and the provisioner, have done their part.
"""

from typing import Any, Final

from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES, PersistentVolume, PersistentVolumeClaim
from doorman.api.volume_annotations import BOUND_BY_CONTROLLER, SELECTED_NODE
from doorman.base.clock import Clock, sleep
from doorman.base.errors import ApiError
from doorman.client.actions import Patch
from doorman.client.client import Client
from doorman.scheduler.outcomes import Placed
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings, StaticBinding
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.volume_matching import is_bound_to, is_fully_bound

POLL_SECONDS_MIN: Final = 0.05
POLL_SECONDS_MAX: Final = 1.0


class VolumesNotBound(Exception):
    """The text is Kubernetes' own."""


class VolumeBinder:
    def __init__(self, client: Client, clock: Clock, state: VolumeState) -> None:
        self._client = client
        self._clock = clock
        self._state = state

    async def bind(self, placed: Placed, bindings: PodVolumeBindings) -> str:
        """What went wrong, if anything did."""
        try:
            for binding in bindings.static:
                await self._give(binding)
            for claim in bindings.provisioned:
                await self._send(claim, placed.node)
            await self._wait(placed, bindings)
        except (ApiError, VolumesNotBound) as error:
            text = error.message if isinstance(error, ApiError) else str(error)
            return f'running PreBind plugin "VolumeBinding": {text}'
        return ""

    async def _give(self, binding: StaticBinding) -> None:
        volume, claim = binding.volume, binding.claim
        meta = claim.metadata
        reference = {
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta.namespace, "name": meta.name,
            "uid": meta.uid, "resourceVersion": meta.resource_version,
        }  # fmt: skip
        written: dict[str, Any] = {"uid": volume.metadata.uid, "resourceVersion": volume.metadata.resource_version}
        if not is_bound_to(volume, claim):
            written["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        body = {"metadata": written, "spec": {"claimRef": reference}}
        await self._client.patch(Patch(resource=VOLUMES, name=volume.metadata.name, body=body))

    async def _send(self, claim: PersistentVolumeClaim, node: str) -> None:
        meta = claim.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": {SELECTED_NODE: node}}}
        await self._client.patch(Patch(resource=CLAIMS, namespace=meta.namespace, name=meta.name, body=body))

    async def _wait(self, placed: Placed, bindings: PodVolumeBindings) -> None:
        """Until all are bound. Raises VolumesNotBound."""
        ends = self._clock.now() + bindings.timeout_seconds
        pause = POLL_SECONDS_MIN
        while True:
            await sleep(self._clock, pause)
            given = [self._is_given(binding) for binding in bindings.static]
            made = [self._is_made(claim, placed.node) for claim in bindings.provisioned]
            if all(given) and all(made):
                return
            if self._clock.now() >= ends:
                raise VolumesNotBound("binding volumes: context deadline exceeded")
            pause = min(2 * pause, POLL_SECONDS_MAX)

    def _is_given(self, binding: StaticBinding) -> bool:
        name = binding.volume.metadata.name
        volume: PersistentVolume | None = self._state.volume(name)
        if volume is None:
            raise VolumesNotBound(f'binding volumes: failed to check binding: could not find pv "{name}"')
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise VolumesNotBound(f'binding volumes: ClaimRef got reset for pv "{name}"')
        return is_fully_bound(self._claim(binding.claim))

    def _is_made(self, claim: PersistentVolumeClaim, node: str) -> bool:
        seen = self._claim(claim)
        # Once it is bound nobody reads the annotation any more.
        if self._state.claim(claim.metadata.key) is seen and seen.metadata.annotations.get(SELECTED_NODE) != node:
            raise VolumesNotBound(f'binding volumes: provisioning failed for PVC "{claim.metadata.name}"')
        return is_fully_bound(seen)

    def _claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """As it is now, for certain no namesake."""
        seen = self._state.seen_claim(claim.metadata.key)
        if seen is None or seen.metadata.uid != claim.metadata.uid:
            raise VolumesNotBound(
                "binding volumes: failed to check provisioning pvc: "
                f'could not find v1.PersistentVolumeClaim "{claim.metadata.key}"'
            )
        return seen
