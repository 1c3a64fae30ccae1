"""Which pods on nodes use a claim, and how many volumes of a driver a node has to attach for its pods."""

from doorman.api.views.pods import Pod
from doorman.api.views.storage.persistent_volumes import PersistentVolumeClaim
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.csi_volumes import PLUGINS, CsiVolume, csi_volume
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


def attachable_volumes(pod: Pod, state: VolumeState) -> dict[str, CsiVolume]:
    """The pod's volumes that a CSI driver attaches, by unique name.

    One that is still to be made counts too, under a name that no other has.
    """
    found: dict[str, CsiVolume] = {}
    for volume, name in volumes_with_claims(pod):
        claim = state.seen_claim(f"{pod.metadata.namespace}/{name}")
        if claim is None or (volume.ephemeral is not None and ownership_fault(pod, claim)):
            continue
        csi = _csi_volume_of(claim, state)
        if csi is not None and csi.driver and csi.handle:
            found[csi.unique_name] = csi
    return found


def _csi_volume_of(claim: PersistentVolumeClaim, state: VolumeState) -> CsiVolume | None:
    volume = state.seen_volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is not None:
        return csi_volume(volume)
    storage_class = state.classes.get(class_of_claim(claim))
    if storage_class is None:
        return None
    driver = driver_of(storage_class.provisioner)
    plugin = storage_class.provisioner if storage_class.provisioner in PLUGINS else ""
    return CsiVolume(driver=driver, handle=f"claim {claim.metadata.key}", plugin=plugin)


def attached_volumes(node: str, state: VolumeState) -> dict[str, CsiVolume]:
    """What VolumeAttachments say of a node, in the same form."""
    found: dict[str, CsiVolume] = {}
    for attachment in state.attachments_on(node):
        name = attachment.spec.source.persistent_volume_name
        volume = state.seen_volume(name) if name is not None else None
        csi = csi_volume(volume) if volume is not None else None
        if attachment.spec.attacher and csi is not None:
            attached = CsiVolume(driver=attachment.spec.attacher, handle=csi.handle)
            found[attached.unique_name] = attached
    return found
