"""Which pods on nodes use a claim, and how many volumes of a driver a node has to attach for its pods."""

from doorman.api.views.persistent_volumes import PersistentVolumeClaim
from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState, PodRecord
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.pod_volumes import claim_keys, ownership_fault, volumes_with_claims
from doorman.semantics.volumes.volume_drivers import driver_of
from doorman.semantics.volumes.volume_matching import class_of_claim


def pods_using(claim_key: str, cluster: ClusterState) -> list[PodRecord]:
    """Pods that hold a place, also those that are leaving."""
    namespace = claim_key.partition("/")[0]
    found = []
    for shape in cluster.shapes.all():
        if shape.demand.uses_volumes and shape.namespace == namespace:
            for row in sorted({*shape.rows, *shape.leaving_rows}):
                found += [
                    record
                    for record in cluster.records_on(row)
                    if record.shape is shape and claim_key in claim_keys(record.pod)
                ]
    return found


def attachable_volumes(pod: Pod, state: VolumeState) -> dict[str, str]:
    """The pod's volumes that a CSI driver attaches: the driver by the volume's unique name.

    One that is still to be made counts too, under a name that no other has.
    """
    found: dict[str, str] = {}
    for volume, name in volumes_with_claims(pod):
        claim = state.seen_claim(f"{pod.metadata.namespace}/{name}")
        if claim is None or (volume.ephemeral is not None and ownership_fault(pod, claim)):
            continue
        driver, handle = _driver_of(claim, state)
        if driver and handle:
            found[f"{driver}/{handle}"] = driver
    return found


def _driver_of(claim: PersistentVolumeClaim, state: VolumeState) -> tuple[str, str]:
    volume = state.seen_volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is not None:
        csi = volume.spec.csi
        return (csi.driver, csi.volume_handle) if csi is not None else ("", "")
    storage_class = state.classes.get(class_of_claim(claim))
    if storage_class is None:
        return "", ""
    return driver_of(storage_class.provisioner), f"claim {claim.metadata.key}"


def attached_volumes(node: str, state: VolumeState) -> dict[str, str]:
    """What VolumeAttachments say of a node, in the same form."""
    found: dict[str, str] = {}
    for attachment in state.attachments_on(node):
        name = attachment.spec.source.persistent_volume_name
        volume = state.seen_volume(name) if name is not None else None
        if attachment.spec.attacher and volume is not None and volume.spec.csi is not None:
            found[f"{attachment.spec.attacher}/{volume.spec.csi.volume_handle}"] = attachment.spec.attacher
    return found
