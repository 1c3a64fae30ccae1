"""What a pod needs before its containers run: volumes, devices, and what their variables are set from.

A kubelet that cannot mount a volume, or get devices ready, says so in an event and tries again, each time after twice
as long. The pod is Pending meanwhile, its containers are being created. While volumes are not attached it says nothing:
that is the attach-detach controller's to tell. A container whose variables cannot be set is tried again every ten
seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod, Volume
from doorman.api.views.resource.devices import ResourceSlice
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.api.views.storage.persistent_volumes import PersistentVolumeClaim
from doorman.base.clock import Instant
from doorman.client.actions import Action
from doorman.client.controller_contract import ObjectChange, Result
from doorman.client.informer_cache import ListerOf
from doorman.nodes.devices.device_driver import withdrawn_device
from doorman.nodes.kubelet_writes import pod_event, status_patch
from doorman.nodes.pods.pod_configuration import PodConfiguration
from doorman.nodes.pods.unstarted_pod_status import held_up_body, starting_body
from doorman.nodes.volumes.node_volumes import NodeVolumes
from doorman.semantics.devices.pod_claims import is_reserved_for, known_references
from doorman.semantics.volumes.pod_volumes import claim_name, ownership_fault

FAILED_MOUNT: Final = "FailedMount"
FAILED_PREPARE: Final = "FailedPrepareDynamicResources"
FAILED_CONTAINER: Final = "Failed"
CONFIG_ERROR: Final = "CreateContainerConfigError"
RETRY_SECONDS_MIN: Final = 0.5
RETRY_SECONDS_MAX: Final = 122.0
CONTAINER_RETRY_SECONDS: Final = 10.0


class StartRequirements:
    """Remembers how long each pod that waits is to be left alone."""

    def __init__(
        self,
        configuration: PodConfiguration | None = None,
        claims: ListerOf[PersistentVolumeClaim] | None = None,
        resource_claims: ListerOf[ResourceClaim] | None = None,
        volumes: NodeVolumes | None = None,
        slices: ListerOf[ResourceSlice] | None = None,
    ) -> None:
        """What is not given is not known, and not waited for."""
        self._configuration = configuration
        self._claims = claims
        self._resource_claims = resource_claims
        self._volumes = volumes
        self._slices = slices
        self._waits: dict[str, tuple[Instant, float]] = {}
        """By the pod's uid: when it is tried again, and how long after that the next time."""

    def wait(self, key: str, pod: Pod, now: Instant) -> Result | None:
        """What a kubelet does about a pod that cannot start yet; None when it can."""
        faults = list(self._faults(pod))
        if faults:
            return self._retry(key, pod, faults, now)
        if self._volumes is not None and self._volumes.is_waiting(key, pod):
            return Result(actions=_pending(pod, now))
        return None

    def wait_for_variables(self, key: str, pod: Pod, now: Instant) -> Result | None:
        """The same about containers whose volumes and images are there."""
        unmade = self._configuration.container_faults(pod) if self._configuration is not None else {}
        if unmade:
            return self._retry_containers(key, pod, unmade, now)
        if self._waits:
            self._waits.pop(pod.metadata.uid, None)
        return None

    def forget(self, uid: str) -> None:
        self._waits.pop(uid, None)

    def concerned_nodes(self, change: ObjectChange) -> Iterable[str]:
        """Nodes that have to say something else of their volumes now that a pod came or went."""
        return self._volumes.concerned_nodes(change) if self._volumes is not None else ()

    def node_changed(self, node: Node) -> tuple[Iterable[Action], Iterable[str]]:
        """What the node has to say of its volumes, and keys of pods that may have what they wait for."""
        if self._volumes is None:
            return (), ()
        return self._volumes.report(node), self._volumes.woken(node.metadata.name)

    def _retry(self, key: str, pod: Pod, faults: Sequence[tuple[str, str]], now: Instant) -> Result:
        uid = pod.metadata.uid
        due, pause = self._waits.get(uid, (now, RETRY_SECONDS_MIN))
        actions: list[Action] = []
        if now >= due:
            actions += [pod_event(pod, reason, text) for reason, text in faults]
            due = now + pause
            self._waits[uid] = (due, min(2 * pause, RETRY_SECONDS_MAX))
        return Result(actions=(*actions, *_pending(pod, now)), wakes=((f"pod/{key}", due),))

    def _retry_containers(self, key: str, pod: Pod, faults: dict[str, str], now: Instant) -> Result:
        uid = pod.metadata.uid
        due, _ = self._waits.get(uid, (now, 0.0))
        actions: list[Action] = []
        if now >= due:
            actions += [
                pod_event(pod, FAILED_CONTAINER, f"Error: {text}", container=name) for name, text in faults.items()
            ]
            due = now + CONTAINER_RETRY_SECONDS
            self._waits[uid] = (due, CONTAINER_RETRY_SECONDS)
        if _told_faults(pod) != faults:
            said = {name: (CONFIG_ERROR, text) for name, text in faults.items()}
            actions.append(status_patch(pod, held_up_body(pod, said, now)))
        return Result(actions=actions, wakes=((f"pod/{key}", due),))

    def _faults(self, pod: Pod) -> Iterator[tuple[str, str]]:
        """Reasons and messages of events."""
        for volume in pod.spec.volumes:
            text = self._volume_fault(pod, volume)
            if text:
                yield FAILED_MOUNT, text
        if pod.spec.resource_claims:
            for reference in known_references(pod):
                text = self._device_fault(pod, reference.name)
                if text:
                    yield FAILED_PREPARE, f"Failed to prepare dynamic resources: prepare dynamic resources: {text}"

    def _volume_fault(self, pod: Pod, volume: Volume) -> str:
        fault = self._configuration.volume_fault(pod, volume) if self._configuration is not None else ""
        if fault:
            return f'MountVolume.SetUp failed for volume "{volume.name}" : {fault}'
        return self._claim_fault(pod, volume)

    def _claim_fault(self, pod: Pod, volume: Volume) -> str:
        name = claim_name(pod, volume)
        if not name or self._claims is None:
            return ""
        key = f"{pod.metadata.namespace}/{name}"
        claim = self._claims.get(key)
        if claim is None:
            fault = f'failed to fetch PVC from API server: persistentvolumeclaims "{name}" not found'
        elif claim.metadata.deletion_timestamp:
            fault = "PVC is being deleted"
        elif claim.status.phase != "Bound" or not claim.spec.volume_name:
            fault = "PVC is not bound"
        else:
            fault = ownership_fault(pod, claim) if volume.ephemeral is not None else ""
        if not fault:
            return ""
        which = f"unmounted volumes=[{volume.name}], unattached volumes=[], failed to process volumes=[{volume.name}]"
        return f"Unable to attach or mount volumes: {which}: error processing PVC {key}: {fault}"

    def _device_fault(self, pod: Pod, name: str) -> str:
        if self._resource_claims is None:
            return ""
        claim = self._resource_claims.get(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            return f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
        if not is_reserved_for(claim, pod):
            meta = pod.metadata
            return f"pod {meta.name} ({meta.uid}) is not allowed to use ResourceClaim {name} ({claim.metadata.uid})"
        if claim.status.allocation is None:
            return f"ResourceClaim {name}: not allocated"
        device = withdrawn_device(claim.status.allocation, pod.spec.node_name, self._slices)
        return f"NodePrepareResources failed for ResourceClaim {name}: there is no device {device}" if device else ""


def _pending(pod: Pod, now: Instant) -> Sequence[Action]:
    """Its kubelet has it, once."""
    return () if pod.status.start_time else (status_patch(pod, starting_body(pod, now)),)


def _told_faults(pod: Pod) -> dict[str, str]:
    """What its status says of containers that cannot be made."""
    return {
        status.name: status.state.waiting.message
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if status.state.waiting is not None and status.state.waiting.reason == CONFIG_ERROR
    }
