"""Under what volumes and claims are filed, so that neither is looked for among all of them."""

from collections.abc import Sequence
from typing import Any, Final

from doorman.api.views.storage.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from doorman.client.informer_cache import Indexer
from doorman.semantics.volumes.volume_matching import class_of_claim, class_of_volume

BY_CLAIM_REFERENCE: Final = "claimRef"
FREE_BY_CLASS: Final = "free"
BY_VOLUME_NAME: Final = "volumeName"
UNBOUND_BY_CLASS: Final = "unbound"
ANY_CLASS: Final = "*"
"""Of claims that name no class: they may get the default one, whichever that is."""


def claim_reference_of(volume: PersistentVolume) -> Sequence[str]:
    return (volume.spec.claim_ref.key,) if volume.spec.claim_ref is not None else ()


def class_if_free(volume: PersistentVolume) -> Sequence[str]:
    return (class_of_volume(volume),) if volume.spec.claim_ref is None else ()


def volume_name_of(claim: PersistentVolumeClaim) -> Sequence[str]:
    return (claim.spec.volume_name,) if claim.spec.volume_name else ()


def class_if_unbound(claim: PersistentVolumeClaim) -> Sequence[str]:
    if claim.spec.volume_name:
        return ()
    own = class_of_claim(claim)
    return (own, ANY_CLASS) if claim.spec.storage_class_name is None else (own,)


VOLUME_INDEXERS: Final[dict[str, Indexer[Any]]] = {
    BY_CLAIM_REFERENCE: claim_reference_of,
    FREE_BY_CLASS: class_if_free,
}
CLAIM_INDEXERS: Final[dict[str, Indexer[Any]]] = {BY_VOLUME_NAME: volume_name_of, UNBOUND_BY_CLASS: class_if_unbound}
