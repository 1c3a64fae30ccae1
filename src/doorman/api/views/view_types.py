"""Which view shows which kind; kinds not named here are shown by their metadata alone."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.views.access.certificates import CertificateSigningRequest
from doorman.api.views.access.flowcontrol import FLOW_SCHEMAS, PRIORITY_LEVELS, FlowSchema, PriorityLevelConfiguration
from doorman.api.views.access.rbac import Role, RoleBinding
from doorman.api.views.admissionregistration import POLICIES, Policy
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.views.apiextensions import CustomResourceDefinition
from doorman.api.views.apps import (
    ControllerRevision,
    DaemonSet,
    Deployment,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import RESOURCE as AUTOSCALERS
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import HorizontalPodAutoscaler
from doorman.api.views.batch import CronJob, Job
from doorman.api.views.coordination import Lease
from doorman.api.views.core import ConfigMap, Event, Namespace, ResourceQuota, Secret, ServiceAccount
from doorman.api.views.doorman_dev import DEDICATED_NODES, TOLERATION_POLICIES, DedicatedNodes, TolerationPolicy
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.api.views.resource.devices import (
    CLASSES,
    SLICES,
    TAINT_RULES,
    DeviceClass,
    DeviceTaintRule,
    ResourceSlice,
)
from doorman.api.views.resource.resource_claims import CLAIM_TEMPLATES, CLAIMS, ResourceClaim, ResourceClaimTemplate
from doorman.api.views.services import Endpoints, EndpointSlice, IpAddress, Service, ServiceCidr
from doorman.api.views.storage.csi import (
    ATTACHMENTS,
    CSI_DRIVERS,
    CSI_NODES,
    STORAGE_CAPACITIES,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    VolumeAttachment,
)
from doorman.api.views.storage.persistent_volumes import CLAIMS as VOLUME_CLAIMS
from doorman.api.views.storage.persistent_volumes import VOLUMES, PersistentVolume, PersistentVolumeClaim
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES, StorageClass
from doorman.api.well_known import RBAC_GROUP

VIEWS: Final[Mapping[str, type[Any]]] = {
    "pods": Pod,
    SLICES: ResourceSlice,
    CLASSES: DeviceClass,
    CLAIMS: ResourceClaim,
    CLAIM_TEMPLATES: ResourceClaimTemplate,
    TAINT_RULES: DeviceTaintRule,
    POLICIES: Policy,
    "events": Event,
    DEFINITIONS: CustomResourceDefinition,
    "nodes": Node,
    DEDICATED_NODES: DedicatedNodes,
    TOLERATION_POLICIES: TolerationPolicy,
    "namespaces": Namespace,
    "configmaps": ConfigMap,
    "resourcequotas": ResourceQuota,
    "services": Service,
    VOLUMES: PersistentVolume,
    VOLUME_CLAIMS: PersistentVolumeClaim,
    STORAGE_CLASSES: StorageClass,
    CSI_NODES: CsiNode,
    CSI_DRIVERS: CsiDriver,
    STORAGE_CAPACITIES: CsiStorageCapacity,
    ATTACHMENTS: VolumeAttachment,
    "endpoints": Endpoints,
    "endpointslices.discovery.k8s.io": EndpointSlice,
    "ipaddresses.networking.k8s.io": IpAddress,
    "servicecidrs.networking.k8s.io": ServiceCidr,
    "replicationcontrollers": ReplicationController,
    "leases.coordination.k8s.io": Lease,
    "poddisruptionbudgets.policy": PodDisruptionBudget,
    FLOW_SCHEMAS: FlowSchema,
    PRIORITY_LEVELS: PriorityLevelConfiguration,
    AUTOSCALERS: HorizontalPodAutoscaler,
    "daemonsets.apps": DaemonSet,
    "deployments.apps": Deployment,
    "replicasets.apps": ReplicaSet,
    "statefulsets.apps": StatefulSet,
    "controllerrevisions.apps": ControllerRevision,
    "jobs.batch": Job,
    "cronjobs.batch": CronJob,
    "serviceaccounts": ServiceAccount,
    "secrets": Secret,
    "certificatesigningrequests.certificates.k8s.io": CertificateSigningRequest,
    f"roles.{RBAC_GROUP}": Role,
    f"clusterroles.{RBAC_GROUP}": Role,
    f"rolebindings.{RBAC_GROUP}": RoleBinding,
    f"clusterrolebindings.{RBAC_GROUP}": RoleBinding,
}
"""By storage."""
