"""The controllers this server can run, in the order in which they are started."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kinds, type_table
from doorman.api.views.admissionregistration import POLICIES
from doorman.api.views.doorman_dev import RESOURCE as DEDICATED_NODES
from doorman.api.views.persistent_volumes import ATTRIBUTES_CLASSES, CLAIMS, VOLUMES
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS, LEASES
from doorman.client.controller_contract import Controller
from doorman.client.informer_cache import ListerOf
from doorman.controllers.certificates.certificate_approver import AccessCheck, CertificateApprovingController
from doorman.controllers.certificates.certificate_signer import CertificateSigningController
from doorman.controllers.certificates.root_ca import RootCaController
from doorman.controllers.cluster.clusterrole_aggregation import CLUSTER_ROLES, ClusterRoleAggregationController
from doorman.controllers.cluster.disruption import DisruptionController, WorkloadScales
from doorman.controllers.cluster.garbage_collector import GarbageCollector, kind_finder
from doorman.controllers.cluster.namespace_controller import NamespaceController
from doorman.controllers.cluster.policy_status import PolicyStatusController
from doorman.controllers.cluster.resource_quota_controller import ResourceQuotaController, TotalOf
from doorman.controllers.cluster.service_account_controller import ServiceAccountController
from doorman.controllers.daemonset.daemonset import DaemonSetController, DaemonSetSettings
from doorman.controllers.deployment.deployment import DeploymentController
from doorman.controllers.job.cronjob import CronJobController
from doorman.controllers.job.job_controller import JobController
from doorman.controllers.job.ttl_after_finished import TtlAfterFinishedController
from doorman.controllers.node.dedicated_nodes_controller import DedicatedNodesController
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from doorman.controllers.node.taint_expiry import TaintExpiryController
from doorman.controllers.pods.pod_gc import PodGcController
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicaset import REPLICA_SETS
from doorman.controllers.replicas.replicationcontroller import REPLICATION_CONTROLLERS
from doorman.controllers.service.endpoint_slices import RESOURCE as SLICES
from doorman.controllers.service.endpoint_slices import EndpointSliceController
from doorman.controllers.service.endpoints_controller import RESOURCE as ENDPOINTS
from doorman.controllers.service.endpoints_controller import EndpointsController
from doorman.controllers.statefulset.statefulset import StatefulSetController
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.controllers.volumes.pv_protection import PersistentVolumeProtectionController
from doorman.controllers.volumes.pvc_protection import PersistentVolumeClaimProtectionController
from doorman.controllers.volumes.vac_protection import VolumeAttributesClassProtectionController
from doorman.runtime.components.informers import Informers
from doorman.runtime.settings import Settings

_NO_CONTENT: Final = frozenset(("bindings", "events.events.k8s.io", "localsubjectaccessreviews.authorization.k8s.io"))
"""Namespaced, but nothing of theirs is stored under their own name."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What controllers are built from."""

    informers: Informers
    kinds: Kinds
    settings: Settings
    ca_certificate: bytes
    ca_key: bytes = b""
    """Empty: nothing is signed."""
    authorize: AccessCheck
    """Says who may do what."""
    total_of: TotalOf
    """Says what quotas are held against."""

    def lister(self, resource: str) -> ListerOf[Any]:
        return self.informers.lister(resource)

    def contents(self) -> Mapping[str, ListerOf[Any]]:
        """Listers of every namespaced kind that is stored."""
        rows = [row for row in self.kinds.rows if row.namespaced and row.group_resource == row.storage]
        names = [row.storage for row in rows if "delete" in row.verbs and row.storage not in _NO_CONTENT]
        return {name: self.lister(name) for name in dict.fromkeys(names)}

    def collectable(self) -> Mapping[str, ListerOf[Any]]:
        """Listers of every kind that may own or be owned."""
        names = [row.storage for row in self.kinds.rows if "delete" in row.verbs and row.storage != "events"]
        return {name: self.lister(name) for name in dict.fromkeys(names)}


Build = Callable[[Parts], Controller]

CONTROLLERS: Final[Mapping[str, Build]] = {
    "serviceaccount-controller": lambda p: ServiceAccountController(
        p.lister("namespaces"), p.lister("serviceaccounts")
    ),
    "root-ca-certificate-publisher-controller": lambda p: RootCaController(
        p.lister("namespaces"), p.lister("configmaps"), root_ca=p.ca_certificate.decode()
    ),
    "namespace-controller": lambda p: NamespaceController(p.lister("namespaces"), p.contents()),
    "garbage-collector-controller": lambda p: GarbageCollector(p.collectable(), kind_finder(p.kinds)),
    "node-lifecycle-controller": lambda p: NodeLifecycleController(
        p.lister("nodes"),
        p.lister("pods"),
        p.lister(LEASES),
        p.settings.node_lifecycle,
        live_leases=p.informers.live(LEASES) if p.settings.gates.lease_circuit_breaker else None,
        stopwatch=time.perf_counter,
    ),
    "taint-eviction-controller": lambda p: TaintEvictionController(
        p.lister("nodes"),
        p.lister("pods"),
        p.settings.taint_eviction,
        budgets=p.lister("poddisruptionbudgets.policy"),
    ),
    "dedicated-nodes-controller": lambda p: DedicatedNodesController(p.lister("nodes"), p.lister(DEDICATED_NODES)),
    "taint-expiry-controller": lambda p: TaintExpiryController(p.lister("nodes")),
    "daemonset-controller": lambda p: DaemonSetController(
        p.lister("daemonsets.apps"),
        p.lister("controllerrevisions.apps"),
        p.lister("pods"),
        p.lister("nodes"),
        DaemonSetSettings(comparison_operators=p.settings.gates.comparison_operators),
    ),
    "replicaset-controller": lambda p: ReplicaController(REPLICA_SETS, p.lister("replicasets.apps"), p.lister("pods")),
    "replicationcontroller-controller": lambda p: ReplicaController(
        REPLICATION_CONTROLLERS, p.lister("replicationcontrollers"), p.lister("pods")
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
    "endpointslice-controller": lambda p: EndpointSliceController(
        p.lister("services"), p.lister("pods"), p.lister(SLICES), p.lister("nodes")
    ),
    "deployment-controller": lambda p: DeploymentController(
        p.lister("deployments.apps"), p.lister("replicasets.apps"), p.lister("pods")
    ),
    "certificatesigningrequest-signing-controller": lambda p: CertificateSigningController(
        p.lister(CERTIFICATE_SIGNING_REQUESTS), p.ca_certificate, p.ca_key
    ),
    "certificatesigningrequest-approving-controller": lambda p: CertificateApprovingController(
        p.lister(CERTIFICATE_SIGNING_REQUESTS), p.authorize
    ),
    "clusterrole-aggregation-controller": lambda p: ClusterRoleAggregationController(p.lister(CLUSTER_ROLES)),
    "validatingadmissionpolicy-status-controller": lambda p: PolicyStatusController(
        p.lister(POLICIES), p.kinds, type_table()
    ),
    "resourcequota-controller": lambda p: ResourceQuotaController(p.lister("resourcequotas"), p.contents(), p.total_of),
    "persistentvolumeclaim-protection-controller": lambda p: PersistentVolumeClaimProtectionController(
        p.lister(CLAIMS), p.lister("pods")
    ),
    "persistentvolume-protection-controller": lambda p: PersistentVolumeProtectionController(p.lister(VOLUMES)),
    "volumeattributesclass-protection-controller": lambda p: VolumeAttributesClassProtectionController(
        p.lister(ATTRIBUTES_CLASSES), p.lister(CLAIMS), p.lister(VOLUMES)
    ),
    "pod-garbage-collector-controller": lambda p: PodGcController(
        p.lister("pods"), p.lister("nodes"), p.settings.pod_gc
    ),
}
"""By the name `--controllers` takes."""

_ACCOUNTS: Final[Mapping[str, str]] = {
    "taint-eviction-controller": "node-controller",
    "certificatesigningrequest-signing-controller": "certificate-controller",
    "certificatesigningrequest-approving-controller": "certificate-controller",
    "node-lifecycle-controller": "node-controller",
    "endpoints-controller": "endpoint-controller",
    "daemonset-controller": "daemon-set-controller",
    "replicationcontroller-controller": "replication-controller",
    "serviceaccount-controller": "service-account-controller",
    "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
    "garbage-collector-controller": "generic-garbage-collector",
    "pod-garbage-collector-controller": "pod-garbage-collector",
    "persistentvolumeclaim-protection-controller": "pvc-protection-controller",
    "persistentvolume-protection-controller": "pv-protection-controller",
}
"""The service account in kube-system a controller acts as, where it is not named after the controller."""


def identity_of(name: str) -> str:
    return f"system:serviceaccount:kube-system:{_ACCOUNTS.get(name, name)}"
