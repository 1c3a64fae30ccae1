"""Which view shows which kind; kinds not named here are shown by their metadata alone."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.batch import CronJob, Job
from doorman.api.certificatesigningrequests import CertificateSigningRequest
from doorman.api.configmaps import ConfigMap
from doorman.api.customresourcedefinitions import RESOURCE as DEFINITIONS
from doorman.api.customresourcedefinitions import CustomResourceDefinition
from doorman.api.dedicated_nodes import RESOURCE as DEDICATED_NODES
from doorman.api.dedicated_nodes import DedicatedNodes
from doorman.api.endpoints import Endpoints, EndpointSlice
from doorman.api.events import Event
from doorman.api.leases import Lease
from doorman.api.namespaces import Namespace
from doorman.api.nodes import Node
from doorman.api.poddisruptionbudgets import PodDisruptionBudget
from doorman.api.pods import Pod
from doorman.api.resourcequotas import ResourceQuota
from doorman.api.roles import RBAC_GROUP, Role, RoleBinding
from doorman.api.serviceaccounts import Secret, ServiceAccount
from doorman.api.services import IpAddress, Service
from doorman.api.toleration_policies import RESOURCE as TOLERATION_POLICIES
from doorman.api.toleration_policies import TolerationPolicy
from doorman.api.webhooks import POLICIES, Policy
from doorman.api.workloads import (
    ControllerRevision,
    DaemonSet,
    Deployment,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

VIEWS: Final[Mapping[str, type[Any]]] = {
    "pods": Pod,
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
    "endpoints": Endpoints,
    "endpointslices.discovery.k8s.io": EndpointSlice,
    "ipaddresses.networking.k8s.io": IpAddress,
    "replicationcontrollers": ReplicationController,
    "leases.coordination.k8s.io": Lease,
    "poddisruptionbudgets.policy": PodDisruptionBudget,
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
