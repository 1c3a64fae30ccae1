"""The controllers this server can run, in the order in which they are started."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Final, TypeAlias

import msgspec

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.views.access.flowcontrol import FLOW_SCHEMAS, PRIORITY_LEVELS
from doorman.api.views.admissionregistration import POLICIES
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import RESOURCE as AUTOSCALERS
from doorman.api.views.doorman_dev import DEDICATED_NODES
from doorman.api.views.resource.devices import CLASSES, SLICES, TAINT_RULES
from doorman.api.views.resource.resource_claims import CLAIM_TEMPLATES, CLAIMS
from doorman.api.views.storage.csi import ATTACHMENTS, CSI_DRIVERS, CSI_NODES
from doorman.api.views.storage.persistent_volumes import ATTRIBUTES_CLASSES, VOLUMES
from doorman.api.views.storage.persistent_volumes import CLAIMS as VOLUME_CLAIMS
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS, LEASES, SERVICE_CIDRS
from doorman.client.controller_contract import Controller
from doorman.controllers.autoscaling.horizontal_pod_autoscaling import NAME as HORIZONTAL_POD_AUTOSCALING
from doorman.controllers.autoscaling.horizontal_pod_autoscaling import HorizontalPodAutoscalerController
from doorman.controllers.autoscaling.scale_targets import TARGETS, ScaleTargets
from doorman.controllers.certificates.certificate_approver import CertificateApprovingController
from doorman.controllers.certificates.certificate_signer import CertificateSigningController
from doorman.controllers.certificates.root_ca import RootCaController
from doorman.controllers.cluster.api_services import RESOURCE as API_SERVICES
from doorman.controllers.cluster.api_services import ApiServiceController
from doorman.controllers.cluster.clusterrole_aggregation import CLUSTER_ROLES, ClusterRoleAggregationController
from doorman.controllers.cluster.crd_controller import CustomResourceDefinitionController
from doorman.controllers.cluster.disruption import DisruptionController, WorkloadScales
from doorman.controllers.cluster.event_ttl import EventTtlController
from doorman.controllers.cluster.flow_schema_status import FlowSchemaStatusController
from doorman.controllers.cluster.garbage_collector import GarbageCollector, kind_finder
from doorman.controllers.cluster.namespace_controller import SEVERAL_SERVERS, NamespaceController
from doorman.controllers.cluster.policy_status import KindTypes, PolicyStatusController
from doorman.controllers.cluster.resource_quota_controller import ResourceQuotaController
from doorman.controllers.cluster.service_account_controller import ServiceAccountController
from doorman.controllers.daemonset.daemonset import DaemonSetController, DaemonSetSettings
from doorman.controllers.deployment.deployment import DeploymentController
from doorman.controllers.devices.device_eviction_messages import NAME as DEVICE_TAINT_EVICTION
from doorman.controllers.devices.device_taint_eviction import DeviceTaintEvictionController
from doorman.controllers.devices.resource_claim_controller import ResourceClaimController
from doorman.controllers.job.cronjob import CronJobController
from doorman.controllers.job.job_controller import JobController
from doorman.controllers.job.ttl_after_finished import TtlAfterFinishedController
from doorman.controllers.node.cloud_node import CloudNodeController
from doorman.controllers.node.dedicated_nodes_controller import DedicatedNodesController
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from doorman.controllers.node.node_ttl import NodeTtlController
from doorman.controllers.node.taint_expiry import TaintExpiryController
from doorman.controllers.pods.pod_gc import PodGcController
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicaset import REPLICA_SETS
from doorman.controllers.replicas.replicationcontroller import REPLICATION_CONTROLLERS
from doorman.controllers.service.endpoint_slice_mirroring import EndpointSliceMirroringController
from doorman.controllers.service.endpoint_slices import RESOURCE as ENDPOINT_SLICES
from doorman.controllers.service.endpoint_slices import EndpointSliceController
from doorman.controllers.service.endpoints_controller import RESOURCE as ENDPOINTS
from doorman.controllers.service.endpoints_controller import EndpointsController
from doorman.controllers.service.ip_addresses import ServiceAddressController
from doorman.controllers.service.kubernetes_service import RESOURCES as API_SERVICE_RESOURCES
from doorman.controllers.service.kubernetes_service import KubernetesServiceController
from doorman.controllers.service.service_cidrs import NAME as SERVICE_RANGES
from doorman.controllers.service.service_cidrs import ServiceRangeController
from doorman.controllers.service.simulated_load_balancers import NAME as SERVICE_LOAD_BALANCERS
from doorman.controllers.service.simulated_load_balancers import LoadBalancerController
from doorman.controllers.statefulset.statefulset import StatefulSetController
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.controllers.volumes.attach_detach import AttachDetachController
from doorman.controllers.volumes.ephemeral_volumes import EphemeralVolumeController
from doorman.controllers.volumes.persistent_volume_binder import PersistentVolumeBinderController
from doorman.controllers.volumes.pv_protection import PersistentVolumeProtectionController
from doorman.controllers.volumes.pvc_protection import PersistentVolumeClaimProtectionController
from doorman.controllers.volumes.simulated_provisioner import SimulatedProvisioner
from doorman.controllers.volumes.vac_protection import VolumeAttributesClassProtectionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.devices.device_driver import SimulatedDeviceDriver
from doorman.nodes.node_annotations import SIMULATED
from doorman.nodes.pods.pod_configuration import PodConfiguration
from doorman.nodes.pods.start_requirements import StartRequirements
from doorman.nodes.volumes.node_volumes import NodeVolumes
from doorman.nodes.volumes.simulated_csi_driver import SimulatedCsiDriver
from doorman.runtime.controller_context import ControllerContext
from doorman.runtime.metrics.usage_readers import metrics_reader, simulated_usage
from doorman.runtime.settings import is_enabled
from doorman.semantics.service_addresses import ORPHAN_SECONDS
from doorman.semantics.service_addresses import RESOURCE as ADDRESSES

Build = Callable[[ControllerContext], Controller]


class ServiceAccountUser(msgspec.Struct, frozen=True):
    """A service account in kube-system, by its user's name."""

    user: str


class BuiltinAccount(Enum):
    API_SERVER = auto()
    """The work is every API server's own, whoever holds the leases."""
    KUBELETS = auto()
    """Each simulated kubelet acts for itself."""


Account: TypeAlias = ServiceAccountUser | BuiltinAccount
"""Who a controller acts as."""

CONTROLLERS: Final[Mapping[str, Build]] = {
    "serviceaccount-controller": lambda context: ServiceAccountController(
        context.lister("namespaces"), context.lister("serviceaccounts")
    ),
    "root-ca-certificate-publisher-controller": lambda context: RootCaController(
        context.lister("namespaces"), context.lister("configmaps"), root_ca=context.ca_certificate.decode()
    ),
    "namespace-controller": lambda context: NamespaceController(
        context.lister("namespaces"), context.contents(), SEVERAL_SERVERS if context.settings.etcd is not None else None
    ),
    "garbage-collector-controller": lambda context: GarbageCollector(context.collectable(), kind_finder(context.kinds)),
    "node-lifecycle-controller": lambda context: NodeLifecycleController(
        context.lister("nodes"),
        context.lister("pods"),
        context.signs_of_life(),
        context.node_lifecycle_settings(),
        live_leases=context.informers.live(LEASES) if context.settings.gates.lease_circuit_breaker else None,
        stopwatch=time.perf_counter,
    ),
    "taint-eviction-controller": lambda context: TaintEvictionController(
        context.lister("nodes"),
        context.lister("pods"),
        msgspec.structs.replace(context.settings.taint_eviction, resumed_at=context.settings.resumed_at),
        budgets=context.lister("poddisruptionbudgets.policy"),
    ),
    "resourceclaim-controller": lambda context: ResourceClaimController(
        context.lister("pods"), context.lister(CLAIMS), context.lister(CLAIM_TEMPLATES)
    ),
    DEVICE_TAINT_EVICTION: lambda context: DeviceTaintEvictionController(
        context.lister("pods"),
        context.lister(CLAIMS),
        context.lister(SLICES),
        context.lister(TAINT_RULES),
        taint_rules=context.settings.gates.device_taint_rules,
        workers=context.settings.device_taint_eviction_workers,
    ),
    "simulated-device-driver": lambda context: SimulatedDeviceDriver(
        context.lister("nodes"), context.lister(SLICES), context.lister(CLASSES)
    ),
    "dedicated-nodes-controller": lambda context: DedicatedNodesController(
        context.lister("nodes"), context.lister(DEDICATED_NODES)
    ),
    "cloud-node-controller": lambda context: CloudNodeController(context.lister("nodes")),
    "ttl-controller": lambda context: NodeTtlController(context.lister("nodes")),
    "taint-expiry-controller": lambda context: TaintExpiryController(
        context.lister("nodes"), context.lister(TAINT_RULES)
    ),
    "daemonset-controller": lambda context: DaemonSetController(
        context.lister("daemonsets.apps"),
        context.lister("controllerrevisions.apps"),
        context.lister("pods"),
        context.lister("nodes"),
        DaemonSetSettings(comparison_operators=context.settings.gates.comparison_operators),
    ),
    "replicaset-controller": lambda context: ReplicaController(
        REPLICA_SETS,
        context.lister("replicasets.apps"),
        context.lister("pods"),
        writes_counts=context.settings.writes_replica_counts,
    ),
    "replicationcontroller-controller": lambda context: ReplicaController(
        REPLICATION_CONTROLLERS,
        context.lister("replicationcontrollers"),
        context.lister("pods"),
        writes_counts=context.settings.writes_replica_counts,
    ),
    "statefulset-controller": lambda context: StatefulSetController(
        context.lister("statefulsets.apps"),
        context.lister("controllerrevisions.apps"),
        context.lister("pods"),
        context.lister("persistentvolumeclaims"),
    ),
    "job-controller": lambda context: JobController(context.lister("jobs.batch"), context.lister("pods")),
    "cronjob-controller": lambda context: CronJobController(
        context.lister("cronjobs.batch"), context.lister("jobs.batch")
    ),
    "ttl-after-finished-controller": lambda context: TtlAfterFinishedController(context.lister("jobs.batch")),
    "disruption-controller": lambda context: DisruptionController(
        context.lister("poddisruptionbudgets.policy"),
        context.lister("pods"),
        WorkloadScales(
            context.lister("replicasets.apps"),
            context.lister("deployments.apps"),
            context.lister("statefulsets.apps"),
            context.lister("replicationcontrollers"),
        ),
    ),
    "endpoints-controller": lambda context: EndpointsController(
        context.lister("services"), context.lister("pods"), context.lister(ENDPOINTS)
    ),
    "endpointslice-mirroring-controller": lambda context: EndpointSliceMirroringController(
        context.lister("services"), context.lister(ENDPOINTS), context.lister(ENDPOINT_SLICES)
    ),
    "endpointslice-controller": lambda context: EndpointSliceController(
        context.lister("services"), context.lister("pods"), context.lister(ENDPOINT_SLICES), context.lister("nodes")
    ),
    SERVICE_LOAD_BALANCERS: lambda context: LoadBalancerController(
        context.lister("services"), context.lister("nodes"), SIMULATED
    ),
    "deployment-controller": lambda context: DeploymentController(
        context.lister("deployments.apps"), context.lister("replicasets.apps"), context.lister("pods")
    ),
    HORIZONTAL_POD_AUTOSCALING: lambda context: HorizontalPodAutoscalerController(
        context.lister(AUTOSCALERS),
        ScaleTargets({resource: context.lister(resource) for resource in TARGETS.values()}, context.custom_scales),
        context.lister("pods"),
        metrics_reader(simulated_usage(context.lister)),
    ),
    "certificatesigningrequest-signing-controller": lambda context: CertificateSigningController(
        context.lister(CERTIFICATE_SIGNING_REQUESTS),
        context.signing_certificate or context.ca_certificate,
        context.ca_key,
    ),
    "certificatesigningrequest-approving-controller": lambda context: CertificateApprovingController(
        context.lister(CERTIFICATE_SIGNING_REQUESTS), context.authorize
    ),
    "clusterrole-aggregation-controller": lambda context: ClusterRoleAggregationController(
        context.lister(CLUSTER_ROLES)
    ),
    "validatingadmissionpolicy-status-controller": lambda context: PolicyStatusController(
        context.lister(POLICIES), context.kinds, KindTypes(type_table(), context.lister(DEFINITIONS)).of
    ),
    SERVICE_RANGES: lambda context: ServiceRangeController(context.lister(SERVICE_CIDRS), context.lister(ADDRESSES)),
    "resourcequota-controller": lambda context: ResourceQuotaController(
        context.lister("resourcequotas"), context.contents(), context.total_of
    ),
    "persistentvolume-binder-controller": lambda context: PersistentVolumeBinderController(
        context.lister(VOLUME_CLAIMS), context.lister(VOLUMES), context.lister(STORAGE_CLASSES), context.lister("pods")
    ),
    "ephemeral-volume-controller": lambda context: EphemeralVolumeController(
        context.lister("pods"), context.lister(VOLUME_CLAIMS)
    ),
    "simulated-provisioner": lambda context: SimulatedProvisioner(
        context.lister(VOLUME_CLAIMS),
        context.lister(VOLUMES),
        context.lister(STORAGE_CLASSES),
        context.lister("nodes"),
        context.lister(ATTACHMENTS),
        stands_in=context.settings.plays_provisioners,
    ),
    "simulated-csi-driver": lambda context: SimulatedCsiDriver(
        context.lister("nodes"),
        context.lister(CSI_NODES),
        context.lister(CSI_DRIVERS),
        context.lister(ATTACHMENTS),
        context.lister(VOLUMES),
        context.lister(VOLUME_CLAIMS),
        registers=context.settings.resumed_at is None,
    ),
    "persistentvolume-attach-detach-controller": lambda context: AttachDetachController(
        context.lister("pods"),
        context.lister("nodes"),
        context.lister(VOLUME_CLAIMS),
        context.lister(VOLUMES),
        context.lister(CSI_DRIVERS),
        context.lister(ATTACHMENTS),
        context.settings.attach_detach,
    ),
    "persistentvolumeclaim-protection-controller": lambda context: PersistentVolumeClaimProtectionController(
        context.lister(VOLUME_CLAIMS), context.lister("pods")
    ),
    "persistentvolume-protection-controller": lambda context: PersistentVolumeProtectionController(
        context.lister(VOLUMES)
    ),
    "volumeattributesclass-protection-controller": lambda context: VolumeAttributesClassProtectionController(
        context.lister(ATTRIBUTES_CLASSES), context.lister(VOLUME_CLAIMS), context.lister(VOLUMES)
    ),
    "pod-garbage-collector-controller": lambda context: PodGcController(
        context.lister("pods"), context.lister("nodes"), context.settings.pod_gc
    ),
}
"""By the name `--controllers` takes."""

_ACCOUNTS: Final[Mapping[str, str]] = {
    SERVICE_RANGES: "service-cidrs-controller",
    HORIZONTAL_POD_AUTOSCALING: "horizontal-pod-autoscaler",
    "taint-eviction-controller": "node-controller",
    "cloud-node-controller": "node-controller",
    "certificatesigningrequest-signing-controller": "certificate-controller",
    "certificatesigningrequest-approving-controller": "certificate-controller",
    "node-lifecycle-controller": "node-controller",
    SERVICE_LOAD_BALANCERS: "service-controller",
    "endpoints-controller": "endpoint-controller",
    "endpointslice-mirroring-controller": "endpointslicemirroring-controller",
    "daemonset-controller": "daemon-set-controller",
    "replicationcontroller-controller": "replication-controller",
    "resourceclaim-controller": "resource-claim-controller",
    "serviceaccount-controller": "service-account-controller",
    "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
    "garbage-collector-controller": "generic-garbage-collector",
    "pod-garbage-collector-controller": "pod-garbage-collector",
    "persistentvolume-attach-detach-controller": "attachdetach-controller",
    "persistentvolume-binder-controller": "persistent-volume-binder",
    "persistentvolumeclaim-protection-controller": "pvc-protection-controller",
    "persistentvolume-protection-controller": "pv-protection-controller",
}
"""The service account in kube-system a controller acts as, where it is not named after the controller."""


def simulated_nodes(context: ControllerContext) -> SimulatedNodes:
    """The kubelets of all simulated nodes."""
    return SimulatedNodes(
        context.lister("nodes"),
        context.lister("pods"),
        context.lister(LEASES),
        context.agent_settings(),
        _start_requirements(context),
    )


def _start_requirements(context: ControllerContext) -> StartRequirements:
    """Where a snapshot was taken up volumes are attached, but for nothing else is waited: it holds no secrets."""
    claims = context.lister(VOLUME_CLAIMS)
    volumes = NodeVolumes(
        context.lister("nodes"), context.lister("pods"), claims, context.lister(VOLUMES), context.lister(CSI_DRIVERS)
    )
    if context.settings.resumed_at is not None:
        return StartRequirements(volumes=volumes)
    configuration = PodConfiguration(context.lister("configmaps"), context.lister("secrets"))
    return StartRequirements(configuration, claims, context.lister(CLAIMS), volumes, context.lister(SLICES))


SERVERS_OWN: Final[Sequence[Build]] = (
    lambda context: CustomResourceDefinitionController(context.lister(DEFINITIONS), context.instances),
    lambda context: ApiServiceController(
        builtin_kinds().group_versions(), context.lister(DEFINITIONS), context.lister(API_SERVICES)
    ),
    lambda context: ServiceAddressController(
        context.lister("services"),
        context.lister(ADDRESSES),
        orphan_seconds=ORPHAN_SECONDS if context.settings.etcd is not None else 0.0,
    ),
    lambda context: KubernetesServiceController(
        {resource: context.lister(resource) for resource in API_SERVICE_RESOURCES}, context.own_service
    ),
    lambda context: FlowSchemaStatusController(context.lister(FLOW_SCHEMAS), context.lister(PRIORITY_LEVELS)),
)
"""Always on: what is the API server's own work upstream."""


def account_of(name: str) -> ServiceAccountUser:
    """The service account in kube-system that a controller of kube-controller-manager acts as."""
    return ServiceAccountUser(f"system:serviceaccount:kube-system:{_ACCOUNTS.get(name, name)}")


def managed_controllers(context: ControllerContext) -> Iterator[tuple[Controller, ServiceAccountUser]]:
    """Those of them that are kube-controller-manager's work upstream, and ours that stand beside it."""
    for name, build in CONTROLLERS.items():
        is_possible = context.settings.gates.device_taints or name != DEVICE_TAINT_EVICTION
        if is_possible and is_enabled(name, context.settings.controllers):
            yield build(context), account_of(name)


def enabled_controllers(context: ControllerContext) -> Iterator[tuple[Controller, Account]]:
    """Every controller that is to run, with who it acts as, in the order in which they are started."""
    yield from elected_controllers(context)
    yield from api_server_controllers(context)


def elected_controllers(context: ControllerContext) -> Iterator[tuple[Controller, Account]]:
    """Those of one process only, where several serve one store: of who holds the lease."""
    if context.settings.components:
        yield from managed_controllers(context)
        yield simulated_nodes(context), BuiltinAccount.KUBELETS


def api_server_controllers(context: ControllerContext) -> Iterator[tuple[Controller, BuiltinAccount]]:
    """Those whose work is every API server's own."""
    for build in SERVERS_OWN:
        yield build(context), BuiltinAccount.API_SERVER
    if context.settings.etcd is None:  # which forgets events by itself
        yield EventTtlController(context.informers.live("events")), BuiltinAccount.API_SERVER
