"""The view of a pod: what the scheduler, the controllers and the node agents act upon."""

from typing import Any, Final

import msgspec

from doorman.api.taints import Toleration
from doorman.api.views.meta import Condition, LabelSelector, ObjectMeta, View

FINISHED: Final = "finished"
DELETING: Final = "deleting"
UNFINISHED_PHASES: Final = frozenset({"", "Pending", "Running", "Unknown"})


class ResourceRequirements(View, frozen=True, kw_only=True):
    """Quantities as written; `doorman.api.machinery.quantity` reads them."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class ContainerPort(View, frozen=True, kw_only=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"
    name: str = ""


class KeySelector(View, frozen=True, kw_only=True):
    name: str = ""
    key: str = ""
    optional: bool = False


class EnvVarSource(View, frozen=True, kw_only=True):
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class EnvVar(View, frozen=True, kw_only=True):
    """Of its value nothing but where it comes from."""

    value_from: EnvVarSource | None = None


class EnvSource(View, frozen=True, kw_only=True):
    name: str = ""
    optional: bool = False


class EnvFromSource(View, frozen=True, kw_only=True):
    config_map_ref: EnvSource | None = None
    secret_ref: EnvSource | None = None


class SleepAction(View, frozen=True, kw_only=True):
    seconds: int = 0


class LifecycleHandler(View, frozen=True, kw_only=True):
    """What it runs or calls is not told: nothing runs."""

    sleep: SleepAction | None = None


class Lifecycle(View, frozen=True, kw_only=True):
    pre_stop: LifecycleHandler | None = None


class Container(View, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    restart_policy: str = ""
    """`Always` on an init container makes it a sidecar."""
    lifecycle: Lifecycle | None = None
    stdin_once: bool = False


class NodeSelectorRequirement(View, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(View, frozen=True, kw_only=True):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(View, frozen=True, kw_only=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(View, frozen=True, kw_only=True):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(View, frozen=True, kw_only=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(View, frozen=True, kw_only=True):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(View, frozen=True, kw_only=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(View, frozen=True, kw_only=True):
    """Also the shape of podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(View, frozen=True, kw_only=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(View, frozen=True, kw_only=True):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(View, frozen=True, kw_only=True):
    name: str = ""


class ReadinessGate(View, frozen=True, kw_only=True):
    condition_type: str = ""


class Sysctl(View, frozen=True, kw_only=True):
    name: str = ""


class PodSecurityContext(View, frozen=True, kw_only=True):
    supplemental_groups_policy: str = ""
    sysctls: tuple[Sysctl, ...] = ()


class PodOS(View, frozen=True, kw_only=True):
    name: str = ""


TOKEN_VOLUME_PREFIX: Final = "kube-api-access-"


class ImageVolumeSource(View, frozen=True, kw_only=True):
    reference: str = ""


class ClaimVolumeSource(View, frozen=True, kw_only=True):
    claim_name: str = ""


class EphemeralVolumeSource(View, frozen=True, kw_only=True):
    """Its claim is made for the pod, and belongs to it."""

    volume_claim_template: dict[str, Any] = {}  # metadata and spec as written


class GceDisk(View, frozen=True, kw_only=True):
    pd_name: str = ""
    read_only: bool = False


class AwsDisk(View, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")


class IscsiDisk(View, frozen=True, kw_only=True):
    iqn: str = ""
    read_only: bool = False


class RbdDisk(View, frozen=True, kw_only=True):
    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False


class KeyToPath(View, frozen=True, kw_only=True):
    key: str = ""


class ConfigMapVolumeSource(View, frozen=True, kw_only=True):
    """Also one of the sources of a projected volume."""

    name: str = ""
    optional: bool = False
    items: tuple[KeyToPath, ...] = ()


class SecretVolumeSource(View, frozen=True, kw_only=True):
    secret_name: str = ""
    optional: bool = False
    items: tuple[KeyToPath, ...] = ()


class SecretProjection(View, frozen=True, kw_only=True):
    name: str = ""
    optional: bool = False
    items: tuple[KeyToPath, ...] = ()


class VolumeProjection(View, frozen=True, kw_only=True):
    config_map: ConfigMapVolumeSource | None = None
    secret: SecretProjection | None = None


class ProjectedVolumeSource(View, frozen=True, kw_only=True):
    sources: tuple[VolumeProjection, ...] = ()


class Volume(View, frozen=True, kw_only=True):
    name: str = ""
    config_map: ConfigMapVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    image: ImageVolumeSource | None = None
    persistent_volume_claim: ClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdDisk | None = None

    def __post_init__(self) -> None:
        """The name that was drawn for the volume with a pod's token says nothing, and would make like pods unlike.

        What is in it is every pod's, and not looked at.
        """
        if (
            self.name.startswith(TOKEN_VOLUME_PREFIX)
            and self.ephemeral is None
            and self.persistent_volume_claim is None
        ):
            msgspec.structs.force_setattr(self, "name", "")
            msgspec.structs.force_setattr(self, "projected", None)


class PodResourceClaim(View, frozen=True, kw_only=True):
    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodSpec(View, frozen=True, kw_only=True):
    node_name: str = ""
    scheduler_name: str = ""
    service_account_name: str = ""
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = ""
    restart_policy: str = "Always"
    runtime_class_name: str = ""
    host_network: bool = False
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    overhead: dict[str, str] = {}
    resources: ResourceRequirements = ResourceRequirements()
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    readiness_gates: tuple[ReadinessGate, ...] = ()
    security_context: PodSecurityContext | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[Volume, ...] = ()
    os: PodOS | None = None


class ContainerStateTerminated(View, frozen=True, kw_only=True):
    exit_code: int = 0
    reason: str = ""
    started_at: str = ""
    finished_at: str = ""
    container_id: str = msgspec.field(default="", name="containerID")


class ContainerStateRunning(View, frozen=True, kw_only=True):
    started_at: str = ""


class ContainerStateWaiting(View, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""


class ContainerState(View, frozen=True, kw_only=True):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(View, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodIP(View, frozen=True, kw_only=True):
    ip: str = ""


class PodResourceClaimStatus(View, frozen=True, kw_only=True):
    """The claim that was made for an entry of `spec.resourceClaims`; without one the entry needs none."""

    name: str = ""
    resource_claim_name: str | None = None


class ExtendedResourceClaimStatus(View, frozen=True, kw_only=True):
    """The claim that was made for extended resources which a DeviceClass backs."""

    resource_claim_name: str = ""


class PodStatus(View, frozen=True, kw_only=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    qos_class: str = msgspec.field(default="", name="qosClass")
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: tuple[PodIP, ...] = msgspec.field(default=(), name="podIPs")
    start_time: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    observed_generation: int = 0
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None

    def condition(self, type_: str) -> Condition | None:
        for condition in self.conditions:
            if condition.type == type_:
                return condition
        return None


class Pod(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        """Succeeded or Failed: it holds no resources any more."""
        return self.status.phase in ("Succeeded", "Failed")


def end_of(pod: Pod) -> tuple[str, ...]:
    """Whether it has `finished` and whether it is `deleting`: the index of pods that are on their way out."""
    finished = pod.status.phase not in UNFINISHED_PHASES
    if pod.metadata.deletion_timestamp:
        return (FINISHED, DELETING) if finished else (DELETING,)
    return (FINISHED,) if finished else ()


class PodTemplateSpec(View, frozen=True, kw_only=True):
    """The pod inside a workload."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
