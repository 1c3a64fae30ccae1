"""Attaching volumes to nodes: which volumes a pod has to have attached, and when one may be detached.

Rules
-----
1. A volume of a CSI driver is attached to the node of every pod that uses it through a bound claim, unless its driver
   says that attaching means nothing to it.
2. A volume that is for one node at a time, by its access modes, is attached to another when it is detached from the
   first.
3. It is detached when no pod there uses it and the kubelet says that it is not in use.
4. While the kubelet says that it is in use: of a node with the taint `out-of-service` at once; of a node that is not
   Ready after six minutes, unless that is switched off; else never.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from doorman.api.views.pods import ContainerStatus, Pod
from doorman.api.views.storage.csi import CsiDriver
from doorman.api.views.storage.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from doorman.base.clock import Instant
from doorman.semantics.volumes.csi_volumes import CsiVolume, csi_volume, is_attached_by
from doorman.semantics.volumes.pod_volumes import ownership_fault, volumes_with_claims
from doorman.semantics.volumes.volume_matching import is_bound_to

UNMOUNT_SECONDS_MAX: Final = 360.0
"""For so long a node that is not Ready is waited for."""

_FOR_MANY_NODES: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))


def attachment_name(volume: CsiVolume, node: str) -> str:
    """Of the VolumeAttachment by which the attach-detach controller asks for it."""
    return f"csi-{hashlib.sha256(f'{volume.handle}{volume.driver}{node}'.encode()).hexdigest()}"


def attached_volumes_of(
    pod: Pod,
    claim_of: Callable[[str], PersistentVolumeClaim | None],
    volume_of: Callable[[str], PersistentVolume | None],
    driver_named: Callable[[str], CsiDriver | None],
) -> Iterator[tuple[str, PersistentVolume, CsiVolume]]:
    """Rule 1: the volumes that its node must have attached, with the names that the pod has for them."""
    for volume, name in volumes_with_claims(pod):
        claim = claim_of(f"{pod.metadata.namespace}/{name}")
        if claim is None or claim.status.phase != "Bound" or not claim.spec.volume_name:
            continue
        if volume.ephemeral is not None and ownership_fault(pod, claim):
            continue
        found = volume_of(claim.spec.volume_name)
        if found is None or not is_bound_to(found, claim):
            continue
        csi = csi_volume(found)
        if csi is not None and is_attached_by(driver_named(csi.driver)):
            yield volume.name, found, csi


def may_be_on_many_nodes(volume: PersistentVolume) -> bool:
    """Rule 2."""
    modes = volume.spec.access_modes
    return not modes or not _FOR_MANY_NODES.isdisjoint(modes)


def has_let_go(pod: Pod) -> bool:
    """Whether none of its containers can run any more, so that its volumes may go."""
    if pod.is_finished:
        return True
    status = pod.status
    return bool(pod.metadata.deletion_timestamp) and not any(
        _is_running(each)
        for each in (
            *status.init_container_statuses, *status.container_statuses, *status.ephemeral_container_statuses,
        )
    )  # fmt: skip


def _is_running(status: ContainerStatus) -> bool:
    return status.state.terminated is None and status.state.waiting is None


def decide_detach(
    since: Instant, *, in_use: bool, is_ready: bool, is_out_of_service: bool, forces: bool
) -> Instant | None:
    """Rules 3 and 4: when a volume that nobody has used `since` may be detached; None: not as things are.

    >>> decide_detach(10.0, in_use=True, is_ready=False, is_out_of_service=False, forces=True)
    370.0
    """
    if not in_use or is_out_of_service:
        return since
    if is_ready or not forces:
        return None
    return since + UNMOUNT_SECONDS_MAX
