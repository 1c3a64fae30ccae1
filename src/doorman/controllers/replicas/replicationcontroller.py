"""replicationcontroller-controller: keeps so many pods of each ReplicationController."""

from typing import Final

from doorman.api.views.apps import ReplicationController
from doorman.api.views.meta import LabelSelector
from doorman.controllers.replicas.replica_controller import ReplicaKind

REPLICATION_CONTROLLERS: Final = ReplicaKind[ReplicationController](
    name="replicationcontroller-controller",
    component="replication-controller",
    resource="replicationcontrollers",
    api_version="v1",
    kind="ReplicationController",
    workers=16,
    selector=lambda found: LabelSelector(match_labels=found.spec.selector),
)
