"""The controllers this server can run, in the order in which they are started."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

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
from doorman.api.well_known import API_SERVER_USER, CERTIFICATE_SIGNING_REQUESTS, LEASES, NODES_GROUP, SERVICE_CIDRS
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
from doorman.runtime.controller_parts import Parts
from doorman.runtime.metrics.usage_readers import metrics_reader, simulated_usage
from doorman.runtime.settings import is_enabled
from doorman.semantics.service_addresses import ORPHAN_SECONDS
from doorman.semantics.service_addresses import RESOURCE as ADDRESSES

Build = Callable[[Parts], Controller]


class Account(msgspec.Struct, frozen=True):
    """Who a controller acts as: a user, or each simulated kubelet for itself."""

    user: str

    @property
    def is_api_server(self) -> bool:
        return self.user == API_SERVER_USER

    @property
    def is_kubelets(self) -> bool:
        return self.user == NODES_GROUP


API_SERVER: Final = Account(API_SERVER_USER)
KUBELETS: Final = Account(NODES_GROUP)

CONTROLLERS: Final[Mapping[str, Build]] = {
    "serviceaccount-controller": lambda p: ServiceAccountController(
        p.lister("namespaces"), p.lister("serviceaccounts")
    ),
    "root-ca-certificate-publisher-controller": lambda p: RootCaController(
        p.lister("namespaces"), p.lister("configmaps"), root_ca=p.ca_certificate.decode()
    ),
    "namespace-controller": lambda p: NamespaceController(
        p.lister("namespaces"), p.contents(), SEVERAL_SERVERS if p.settings.etcd is not None else None
    ),
    "garbage-collector-controller": lambda p: GarbageCollector(p.collectable(), kind_finder(p.kinds)),
    "node-lifecycle-controller": lambda p: NodeLifecycleController(
        p.lister("nodes"),
        p.lister("pods"),
        p.signs_of_life(),
        p.node_lifecycle_settings(),
        live_leases=p.informers.live(LEASES) if p.settings.gates.lease_circuit_breaker else None,
        stopwatch=time.perf_counter,
    ),
    "taint-eviction-controller": lambda p: TaintEvictionController(
        p.lister("nodes"),
        p.lister("pods"),
        msgspec.structs.replace(p.settings.taint_eviction, resumed_at=p.settings.resumed_at),
        budgets=p.lister("poddisruptionbudgets.policy"),
    ),
    "resourceclaim-controller": lambda p: ResourceClaimController(
        p.lister("pods"), p.lister(CLAIMS), p.lister(CLAIM_TEMPLATES)
    ),
    DEVICE_TAINT_EVICTION: lambda p: DeviceTaintEvictionController(
        p.lister("pods"),
        p.lister(CLAIMS),
        p.lister(SLICES),
        p.lister(TAINT_RULES),
        taint_rules=p.settings.gates.device_taint_rules,
        workers=p.settings.device_taint_eviction_workers,
    ),
    "simulated-device-driver": lambda p: SimulatedDeviceDriver(p.lister("nodes"), p.lister(SLICES), p.lister(CLASSES)),
    "dedicated-nodes-controller": lambda p: DedicatedNodesController(p.lister("nodes"), p.lister(DEDICATED_NODES)),
    "cloud-node-controller": lambda p: CloudNodeController(p.lister("nodes")),
    "taint-expiry-controller": lambda p: TaintExpiryController(p.lister("nodes"), p.lister(TAINT_RULES)),
    "daemonset-controller": lambda p: DaemonSetController(
        p.lister("daemonsets.apps"),
        p.lister("controllerrevisions.apps"),
        p.lister("pods"),
        p.lister("nodes"),
        DaemonSetSettings(comparison_operators=p.settings.gates.comparison_operators),
    ),
    "replicaset-controller": lambda p: ReplicaController(
        REPLICA_SETS,
        p.lister("replicasets.apps"),
        p.lister("pods"),
        writes_counts=p.settings.writes_replica_counts,
    ),
    "replicationcontroller-controller": lambda p: ReplicaController(
        REPLICATION_CONTROLLERS,
        p.lister("replicationcontrollers"),
        p.lister("pods"),
        writes_counts=p.settings.writes_replica_counts,
    ),
    "statefulset-controller": lambda p: StatefulSetController(
        p.lister("statefulsets.apps"),
        p.lister("controllerrevisions.apps"),
        p.lister("pods"),
        p.lister("persistentvolumeclaims"),
    ),
    "job-controller": lambda p: JobController(p.lister("jobs.batch"), p.lister("pods")),
    "cronjob-controller": lambda p: CronJobController(p.lister("cronjobs.batch"), p.lister("jobs.batch")),
    "ttl-after-finished-controller": lambda p: TtlAfterFinishedController(p.lister("jobs.batch")),
    "disruption-controller": lambda p: DisruptionController(
        p.lister("poddisruptionbudgets.policy"),
        p.lister("pods"),
        WorkloadScales(
            p.lister("replicasets.apps"),
            p.lister("deployments.apps"),
            p.lister("statefulsets.apps"),
            p.lister("replicationcontrollers"),
        ),
    ),
    "endpoints-controller": lambda p: EndpointsController(p.lister("services"), p.lister("pods"), p.lister(ENDPOINTS)),
    "endpointslice-mirroring-controller": lambda p: EndpointSliceMirroringController(
        p.lister("services"), p.lister(ENDPOINTS), p.lister(ENDPOINT_SLICES)
    ),
    "endpointslice-controller": lambda p: EndpointSliceController(
        p.lister("services"), p.lister("pods"), p.lister(ENDPOINT_SLICES), p.lister("nodes")
    ),
    SERVICE_LOAD_BALANCERS: lambda p: LoadBalancerController(p.lister("services"), p.lister("nodes"), SIMULATED),
    "deployment-controller": lambda p: DeploymentController(
        p.lister("deployments.apps"), p.lister("replicasets.apps"), p.lister("pods")
    ),
    HORIZONTAL_POD_AUTOSCALING: lambda p: HorizontalPodAutoscalerController(
        p.lister(AUTOSCALERS),
        ScaleTargets({resource: p.lister(resource) for resource in TARGETS.values()}, p.custom_scales),
        p.lister("pods"),
        metrics_reader(simulated_usage(p.lister)),
    ),
    "certificatesigningrequest-signing-controller": lambda p: CertificateSigningController(
        p.lister(CERTIFICATE_SIGNING_REQUESTS), p.signing_certificate or p.ca_certificate, p.ca_key
    ),
    "certificatesigningrequest-approving-controller": lambda p: CertificateApprovingController(
        p.lister(CERTIFICATE_SIGNING_REQUESTS), p.authorize
    ),
    "clusterrole-aggregation-controller": lambda p: ClusterRoleAggregationController(p.lister(CLUSTER_ROLES)),
    "validatingadmissionpolicy-status-controller": lambda p: PolicyStatusController(
        p.lister(POLICIES), p.kinds, KindTypes(type_table(), p.lister(DEFINITIONS)).of
    ),
    SERVICE_RANGES: lambda p: ServiceRangeController(p.lister(SERVICE_CIDRS), p.lister(ADDRESSES)),
    "resourcequota-controller": lambda p: ResourceQuotaController(p.lister("resourcequotas"), p.contents(), p.total_of),
    "persistentvolume-binder-controller": lambda p: PersistentVolumeBinderController(
        p.lister(VOLUME_CLAIMS), p.lister(VOLUMES), p.lister(STORAGE_CLASSES), p.lister("pods")
    ),
    "ephemeral-volume-controller": lambda p: EphemeralVolumeController(p.lister("pods"), p.lister(VOLUME_CLAIMS)),
    "simulated-provisioner": lambda p: SimulatedProvisioner(
        p.lister(VOLUME_CLAIMS),
        p.lister(VOLUMES),
        p.lister(STORAGE_CLASSES),
        p.lister("nodes"),
        p.lister(ATTACHMENTS),
        stands_in=p.settings.plays_provisioners,
    ),
    "simulated-csi-driver": lambda p: SimulatedCsiDriver(
        p.lister("nodes"),
        p.lister(CSI_NODES),
        p.lister(CSI_DRIVERS),
        p.lister(ATTACHMENTS),
        p.lister(VOLUMES),
        p.lister(VOLUME_CLAIMS),
        registers=p.settings.resumed_at is None,
    ),
    "persistentvolume-attach-detach-controller": lambda p: AttachDetachController(
        p.lister("pods"),
        p.lister("nodes"),
        p.lister(VOLUME_CLAIMS),
        p.lister(VOLUMES),
        p.lister(CSI_DRIVERS),
        p.lister(ATTACHMENTS),
        p.settings.attach_detach,
    ),
    "persistentvolumeclaim-protection-controller": lambda p: PersistentVolumeClaimProtectionController(
        p.lister(VOLUME_CLAIMS), p.lister("pods")
    ),
    "persistentvolume-protection-controller": lambda p: PersistentVolumeProtectionController(p.lister(VOLUMES)),
    "volumeattributesclass-protection-controller": lambda p: VolumeAttributesClassProtectionController(
        p.lister(ATTRIBUTES_CLASSES), p.lister(VOLUME_CLAIMS), p.lister(VOLUMES)
    ),
    "pod-garbage-collector-controller": lambda p: PodGcController(
        p.lister("pods"), p.lister("nodes"), p.settings.pod_gc
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


def simulated_nodes(p: Parts) -> SimulatedNodes:
    """The kubelets of all simulated nodes."""
    return SimulatedNodes(
        p.lister("nodes"),
        p.lister("pods"),
        p.lister(LEASES),
        p.agent_settings(),
        _start_requirements(p),
    )


def _start_requirements(parts: Parts) -> StartRequirements:
    """Where a snapshot was taken up volumes are attached, but for nothing else is waited: it holds no secrets."""
    claims = parts.lister(VOLUME_CLAIMS)
    volumes = NodeVolumes(
        parts.lister("nodes"), parts.lister("pods"), claims, parts.lister(VOLUMES), parts.lister(CSI_DRIVERS)
    )
    if parts.settings.resumed_at is not None:
        return StartRequirements(volumes=volumes)
    configuration = PodConfiguration(parts.lister("configmaps"), parts.lister("secrets"))
    return StartRequirements(configuration, claims, parts.lister(CLAIMS), volumes, parts.lister(SLICES))


SERVERS_OWN: Final[Sequence[tuple[Build, Account]]] = (
    (lambda p: CustomResourceDefinitionController(p.lister(DEFINITIONS), p.instances), API_SERVER),
    (
        lambda p: ApiServiceController(builtin_kinds().group_versions(), p.lister(DEFINITIONS), p.lister(API_SERVICES)),
        API_SERVER,
    ),
    (
        lambda p: ServiceAddressController(
            p.lister("services"),
            p.lister(ADDRESSES),
            orphan_seconds=ORPHAN_SECONDS if p.settings.etcd is not None else 0.0,
        ),
        API_SERVER,
    ),
    (
        lambda p: KubernetesServiceController(
            {resource: p.lister(resource) for resource in API_SERVICE_RESOURCES}, p.own_service
        ),
        API_SERVER,
    ),
    (lambda p: FlowSchemaStatusController(p.lister(FLOW_SCHEMAS), p.lister(PRIORITY_LEVELS)), API_SERVER),
    (simulated_nodes, KUBELETS),
)
"""Always on: what is the API server's own work upstream, and the simulated kubelets."""


def account_of(name: str) -> Account:
    """The service account in kube-system that a controller of kube-controller-manager acts as."""
    return Account(f"system:serviceaccount:kube-system:{_ACCOUNTS.get(name, name)}")


def managed_controllers(parts: Parts) -> Iterator[tuple[Controller, Account]]:
    """Those of them that are kube-controller-manager's work upstream, and ours that stand beside it."""
    for name, build in CONTROLLERS.items():
        is_possible = parts.settings.gates.device_taints or name != DEVICE_TAINT_EVICTION
        if is_possible and is_enabled(name, parts.settings.controllers):
            yield build(parts), account_of(name)


def enabled_controllers(parts: Parts) -> Iterator[tuple[Controller, Account]]:
    """Every controller that is to run, with who it acts as, in the order in which they are started."""
    if parts.settings.components:
        yield from managed_controllers(parts)
    for build, account in SERVERS_OWN:
        if parts.settings.components or account.is_api_server:
            yield build(parts), account
    if parts.settings.etcd is None:  # which forgets events by itself
        yield EventTtlController(parts.informers.live("events")), API_SERVER
