"""Which claims are a pod's: those that its volumes name, and those that are made for its ephemeral volumes."""

from collections.abc import Iterator

from doorman.api.views.pods import Pod, PodSpec, Volume
from doorman.api.views.storage.persistent_volumes import PersistentVolumeClaim


def claim_name(pod: Pod, volume: Volume) -> str:
    """Of the claim behind a volume; empty when there is none.

    >>> claim_name(Pod(), Volume(name="data"))
    ''
    """
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else ""


def volumes_with_claims(pod: Pod) -> Iterator[tuple[Volume, str]]:
    """Volumes that a claim stands behind, with its name."""
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name:
            yield volume, name


def claim_keys(pod: Pod) -> tuple[str, ...]:
    """Keys of all its claims, each once.

    >>> claim_keys(Pod())
    ()
    """
    return tuple(dict.fromkeys(f"{pod.metadata.namespace}/{name}" for _, name in volumes_with_claims(pod)))


def asks_for_volumes(spec: PodSpec) -> bool:
    """Whether volumes have a say in where the pod goes."""
    return any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or is_disk(volume)
        for volume in spec.volumes
    )


def is_disk(volume: Volume) -> bool:
    """A disk that is named in the pod itself, and that not every two pods may use at once."""
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def are_in_conflict(volume: Volume, other: Volume) -> bool:
    """Whether two pods of one node may not use these two disks at once."""
    if volume.gce_persistent_disk is not None and other.gce_persistent_disk is not None:
        gce, other_gce = volume.gce_persistent_disk, other.gce_persistent_disk
        return gce.pd_name == other_gce.pd_name and not (gce.read_only and other_gce.read_only)
    if volume.aws_elastic_block_store is not None and other.aws_elastic_block_store is not None:
        return volume.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if volume.iscsi is not None and other.iscsi is not None:
        iscsi, other_iscsi = volume.iscsi, other.iscsi
        return iscsi.iqn == other_iscsi.iqn and not (iscsi.read_only and other_iscsi.read_only)
    if volume.rbd is not None and other.rbd is not None:
        rbd, other_rbd = volume.rbd, other.rbd
        return (
            not set(rbd.monitors).isdisjoint(other_rbd.monitors)
            and (rbd.pool, rbd.image) == (other_rbd.pool, other_rbd.image)
            and not (rbd.read_only and other_rbd.read_only)
        )
    return False


def ownership_fault(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Why a claim is not the one that was made for the pod's ephemeral volume; empty when it is."""
    owners = claim.metadata.owner_references
    if any(owner.controller and owner.uid == pod.metadata.uid for owner in owners):
        return ""
    meta = claim.metadata
    return (
        f"PVC {meta.namespace}/{meta.name} was not created for pod {pod.metadata.namespace}/{pod.metadata.name} "
        "(pod is not owner)"
    )
