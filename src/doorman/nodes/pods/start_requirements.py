"""What a pod needs before its containers start: config maps, secrets and claims that its volumes name, and its devices.

A kubelet that cannot mount a volume, or get devices ready, says so in an event and tries again, each time after twice
as long. The pod is Pending meanwhile, its containers are being created. What is optional is not waited for.
"""

from collections.abc import Iterator
from typing import Any, Final

from doorman.api.views.core import ConfigMap, Secret
from doorman.api.views.persistent_volumes import PersistentVolumeClaim
from doorman.api.views.pods import Pod, Volume
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.base.clock import Instant
from doorman.client.actions import Action
from doorman.client.controller_contract import Result
from doorman.client.informer_cache import ListerOf
from doorman.nodes.pods.unstarted_pod_status import starting_body
from doorman.nodes.status.kubelet_writes import pod_event, status_patch
from doorman.semantics.devices.pod_claims import is_reserved_for, known_references
from doorman.semantics.volumes.pod_volumes import claim_name, ownership_fault

FAILED_MOUNT: Final = "FailedMount"
FAILED_PREPARE: Final = "FailedPrepareDynamicResources"
RETRY_SECONDS_MIN: Final = 0.5
RETRY_SECONDS_MAX: Final = 122.0


class StartRequirements:
    """Remembers how long each pod that waits is to be left alone."""

    def __init__(
        self,
        config_maps: ListerOf[ConfigMap] | None = None,
        secrets: ListerOf[Secret] | None = None,
        claims: ListerOf[PersistentVolumeClaim] | None = None,
        resource_claims: ListerOf[ResourceClaim] | None = None,
    ) -> None:
        """What is not given is not known, and not waited for."""
        self._config_maps = config_maps
        self._secrets = secrets
        self._claims = claims
        self._resource_claims = resource_claims
        self._waits: dict[str, tuple[Instant, float]] = {}
        """By the pod's uid: when it is tried again, and how long after that the next time."""

    def wait(self, key: str, pod: Pod, now: Instant) -> Result | None:
        """What a kubelet does about a pod that cannot start yet; None when it can."""
        faults = list(self._faults(pod))
        uid = pod.metadata.uid
        if not faults:
            if self._waits:
                self._waits.pop(uid, None)
            return None
        due, pause = self._waits.get(uid, (now, RETRY_SECONDS_MIN))
        actions: list[Action] = []
        if now >= due:
            actions += [pod_event(pod, reason, text) for reason, text in faults]
            due = now + pause
            self._waits[uid] = (due, min(2 * pause, RETRY_SECONDS_MAX))
        if not pod.status.start_time:
            actions.append(status_patch(pod, starting_body(pod, now)))
        return Result(actions=actions, wakes=((f"pod/{key}", due),))

    def forget(self, uid: str) -> None:
        self._waits.pop(uid, None)

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
        namespace = pod.metadata.namespace
        config_map, secret = volume.config_map, volume.secret
        missing = ""
        if config_map is not None:
            if not config_map.optional and _is_missing(self._config_maps, f"{namespace}/{config_map.name}"):
                missing = f'configmap "{config_map.name}" not found'
        elif secret is not None:
            if not secret.optional and _is_missing(self._secrets, f"{namespace}/{secret.secret_name}"):
                missing = f'secret "{secret.secret_name}" not found'
        else:
            return self._claim_fault(pod, volume)
        return f'MountVolume.SetUp failed for volume "{volume.name}" : {missing}' if missing else ""

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
        return f"ResourceClaim {name}: not allocated" if claim.status.allocation is None else ""


def _is_missing(lister: ListerOf[Any] | None, key: str) -> bool:  # views of any kind
    return lister is not None and lister.get(key) is None
