"""By which indexes informers file the objects of each kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.api.views.meta import moved_with_owners, orphanage_of, owner_uids
from doorman.api.views.object_indexes import BY_NAMESPACE, BY_ORPHANAGE, BY_OWNER
from doorman.api.views.pod_indexes import POD_INDEXERS, moved_between
from doorman.api.views.resource.devices import SLICES
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.api.views.services import addresses_of, selecting_in
from doorman.api.views.storage.csi import (
    ATTACHMENTS,
    BY_ATTACHED_NODE,
    BY_ATTACHED_VOLUME,
    attached_node_of,
    attached_volume_of,
)
from doorman.api.views.storage.persistent_volumes import CLAIMS as VOLUME_CLAIMS
from doorman.api.views.storage.persistent_volumes import VOLUMES
from doorman.client.informer_cache import Indexer, InformerCache
from doorman.controllers.devices.claim_evictions import BY_POOL, claim_pools, slice_pools
from doorman.controllers.devices.resource_claim_controller import BY_CLAIM, BY_TEMPLATE, templates_of
from doorman.controllers.volumes.volume_indexes import CLAIM_INDEXERS, VOLUME_INDEXERS
from doorman.semantics.devices.pod_claims import claim_keys_of

INDEXERS: Final[Mapping[str, Mapping[str, Indexer[Any]]]] = {
    "pods": {**POD_INDEXERS, BY_CLAIM: claim_keys_of, BY_TEMPLATE: templates_of},
    SLICES: {BY_POOL: slice_pools},
    CLAIMS: {BY_POOL: claim_pools},
    ATTACHMENTS: {BY_ATTACHED_NODE: attached_node_of, BY_ATTACHED_VOLUME: attached_volume_of},
    VOLUMES: VOLUME_INDEXERS,
    VOLUME_CLAIMS: CLAIM_INDEXERS,
    "replicasets.apps": {BY_ORPHANAGE: orphanage_of},
    "controllerrevisions.apps": {BY_ORPHANAGE: orphanage_of},
    "services": {"address": addresses_of, "selecting": selecting_in},
}
"""By group resource. Every kind has `namespace` and `owner` besides its own."""

MOVED: Final[Mapping[str, Callable[[Any, Any], Sequence[str] | None]]] = {
    "pods": moved_between,
    **dict.fromkeys(("services", SLICES, CLAIMS, ATTACHMENTS, VOLUMES, VOLUME_CLAIMS), lambda _old, _new: None),
}
"""The indexes that may tell two versions apart; None: any may. All others ask for nothing but the owners."""

COMMON_INDEXERS: Final[Mapping[str, Indexer[Any]]] = {
    BY_NAMESPACE: lambda obj: (obj.metadata.namespace,),
    BY_OWNER: owner_uids,
}


def indexed_cache(resource: str) -> InformerCache[Any]:
    """An empty cache of that kind, with the indexes that components ask for."""
    indexers = {**COMMON_INDEXERS, **INDEXERS.get(resource, {})}
    return InformerCache(indexers, MOVED.get(resource, moved_with_owners))
