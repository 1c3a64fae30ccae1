"""replicaset-controller: keeps so many pods of each ReplicaSet."""

from typing import Final

from doorman.api.views.apps import ReplicaSet
from doorman.controllers.replicas.replica_controller import ReplicaKind

REPLICA_SETS: Final = ReplicaKind[ReplicaSet](
    name="replicaset-controller",
    resource="replicasets.apps",
    api_version="apps/v1",
    kind="ReplicaSet",
    workers=64,
    selector=lambda found: found.spec.selector,
)
