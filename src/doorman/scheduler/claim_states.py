"""What the scheduler knows of pods' claims, for devices and for volumes: told together of pods and of what changes."""

from typing import Any, Final

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.devices.device_state import DEVICE_KINDS, DeviceGates, DeviceState
from doorman.scheduler.framework import ClusterEvent
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.volumes.volume_state import VOLUME_KINDS, VolumeState
from doorman.semantics.devices.pod_claims import claim_keys_of
from doorman.semantics.volumes.pod_volumes import claim_keys

CLAIM_KINDS: Final = (*DEVICE_KINDS, *VOLUME_KINDS)
"""What it must be told of."""


class ClaimStates:
    def __init__(self, cluster: ClusterState, device_gates: DeviceGates | None) -> None:
        self.devices = DeviceState(cluster, device_gates)
        self.volumes = VolumeState()

    def changed(self, resource: str, old: Any, new: Any) -> list[ClusterEvent]:  # views of that kind
        state = self.devices if resource in DEVICE_KINDS else self.volumes
        return state.changed(resource, old, new)

    def seen_waiting(self, pod: Pod) -> None:
        """Which claims of devices it uses may become known later."""
        if pod.spec.resource_claims:
            self.devices.users.pod_waits(pod.metadata.key, claim_keys_of(pod))

    def queued(self, fresh: QueuedPod) -> None:
        """A pod is to be placed. Which claims its volumes name never changes."""
        if fresh.shape.demand.uses_volumes:
            self.volumes.users.pod_waits(fresh.key, claim_keys(fresh.pod))

    def pod_bound(self, pod_key: str) -> None:
        self.devices.users.pod_ends_waiting(pod_key)
        self.volumes.users.pod_ends_waiting(pod_key)

    def pod_gone(self, pod_key: str) -> None:
        self.pod_bound(pod_key)
        self.unreserve(pod_key)

    def written(self, pod_key: str) -> None:
        """The pod is bound, and so its claims are written."""
        self.devices.written(pod_key)
        self.volumes.unreserve(pod_key)

    def unreserve(self, pod_key: str) -> None:
        """The pod is not placed after all."""
        self.devices.unreserve(pod_key)
        self.volumes.unreserve(pod_key)
