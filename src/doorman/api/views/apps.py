"""Views of what makes pods. Templates stay plain JSON, because pods are made of all of it.

`template_spec` shows what controllers read of a template.
"""

from typing import Any

from doorman.api.views.meta import Condition, LabelSelector, ObjectMeta, View, to_view
from doorman.api.views.pods import PodSpec

Template = dict[str, Any]  # a PodTemplateSpec as JSON
IntOrPercent = int | str


def template_labels(template: Template) -> dict[str, str]:
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def template_spec(template: Template) -> PodSpec:
    return to_view(template.get("spec") or {}, PodSpec)


class RollingUpdate(View, frozen=True, kw_only=True):
    max_unavailable: IntOrPercent | None = None
    max_surge: IntOrPercent | None = None
    partition: int = 0


class UpdateStrategy(View, frozen=True, kw_only=True):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class DaemonSetSpec(View, frozen=True, kw_only=True):
    selector: LabelSelector | None = None
    template: Template = {}
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetStatus(View, frozen=True, kw_only=True):
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    observed_generation: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int = 0


class DaemonSet(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    data: Any = None  # whatever the owner needs to go back to this revision
    revision: int = 0


class ReplicaSetSpec(View, frozen=True, kw_only=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector | None = None
    template: Template = {}


class ReplicaSetStatus(View, frozen=True, kw_only=True):
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()

    def condition(self, type_: str) -> Condition | None:
        return next((c for c in self.conditions if c.type == type_), None)


class ReplicaSet(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicationControllerSpec(View, frozen=True, kw_only=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: dict[str, str] = {}
    template: Template = {}


class ReplicationController(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class DeploymentSpec(View, frozen=True, kw_only=True):
    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template = {}
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = 10
    progress_deadline_seconds: int | None = 600
    paused: bool = False


class DeploymentStatus(View, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int = 0
    conditions: tuple[Condition, ...] = ()

    def condition(self, type_: str) -> Condition | None:
        return next((c for c in self.conditions if c.type == type_), None)


class Deployment(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ClaimRetention(View, frozen=True, kw_only=True):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class StatefulSetOrdinals(View, frozen=True, kw_only=True):
    start: int = 0


class StatefulSetSpec(View, frozen=True, kw_only=True):
    replicas: int = 1
    selector: LabelSelector | None = None
    template: Template = {}
    volume_claim_templates: tuple[dict[str, Any], ...] = ()  # PersistentVolumeClaims as JSON
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0
    ordinals: StatefulSetOrdinals = StatefulSetOrdinals()
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()


class StatefulSetStatus(View, frozen=True, kw_only=True):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int = 0


class StatefulSet(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()
