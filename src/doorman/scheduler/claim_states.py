"""What the scheduler knows of pods' claims, for devices and for volumes: told together of pods and of what changes."""

from typing import Any, Final

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.devices.device_state import DEVICE_KINDS, DeviceGates, DeviceState
from doorman.scheduler.framework import ClusterEvent
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.volumes.volume_state import VOLUME_KINDS, VolumeState

CLAIM_KINDS: Final = (*DEVICE_KINDS, *VOLUME_KINDS)
"""What it must be told of."""


class ClaimStates:
    def __init__(self, cluster: ClusterState, device_gates: DeviceGates | None) -> None:
        self.devices = DeviceState(cluster, device_gates)
        self.volumes = VolumeState()

    def changed(self, resource: str, old: Any, new: Any) -> list[ClusterEvent]:  # views of that kind
        state = self.devices if resource in DEVICE_KINDS else self.volumes
        return state.changed(resource, old, new)

    def queued(self, fresh: QueuedPod) -> None:
        """A pod is to be placed. Which claims its volumes name never changes."""
        if fresh.shape.demand.uses_volumes:
            self.volumes.pod_waits(fresh.pod)

    def pod_bound(self, pod_key: str) -> None:
        self.devices.pod_ends_waiting(pod_key)
        self.volumes.pod_ends_waiting(pod_key)

    def pod_gone(self, pod_key: str) -> None:
        self.devices.pod_gone(pod_key)
        self.volumes.pod_gone(pod_key)

    def written(self, pod_key: str) -> None:
        """The pod is bound, and so its claims are written."""
        self.devices.written(pod_key)
        self.volumes.unreserve(pod_key)

    def unreserve(self, pod_key: str) -> None:
        """The pod is not placed after all."""
        self.devices.unreserve(pod_key)
        self.volumes.unreserve(pod_key)
