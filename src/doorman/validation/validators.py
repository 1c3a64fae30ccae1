"""Which validator checks which kind, by the name of its storage (`pods`, `daemonsets.apps`)."""

from collections.abc import Mapping
from typing import Final

from doorman.validation.admissionregistration import policies, webhooks
from doorman.validation.apiextensions.custom_resource_definition import DEFINITION
from doorman.validation.apiregistration.api_service import API_SERVICE
from doorman.validation.apps import workload
from doorman.validation.apps.controller_revision import CONTROLLER_REVISION
from doorman.validation.autoscaling.horizontal_pod_autoscaler import HORIZONTAL_POD_AUTOSCALER
from doorman.validation.batch import job
from doorman.validation.certificates.certificate_request import CERTIFICATE_REQUEST
from doorman.validation.certificates.pod_certificate_request import POD_CERTIFICATE_REQUEST
from doorman.validation.certificates.trust_bundle import TRUST_BUNDLE
from doorman.validation.context import Context, Validator
from doorman.validation.coordination.lease import validate_lease_create, validate_lease_update
from doorman.validation.coordination.lease_candidate import LEASE_CANDIDATE
from doorman.validation.core import plain
from doorman.validation.core.endpoint_subsets import ENDPOINTS
from doorman.validation.core.event import validate_event_create, validate_event_update
from doorman.validation.core.limit_range import LIMIT_RANGE
from doorman.validation.core.namespace import validate_namespace_create, validate_namespace_update
from doorman.validation.core.node_rules import validate_node_create, validate_node_update
from doorman.validation.core.persistent_volume import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from doorman.validation.core.resource_quota import RESOURCE_QUOTA
from doorman.validation.core.service import SERVICE
from doorman.validation.declarative import with_declared_last
from doorman.validation.discovery.endpoint_slice import ENDPOINT_SLICE
from doorman.validation.doorman_dev import dedicated
from doorman.validation.flowcontrol.flow_schema import FLOW_SCHEMA
from doorman.validation.flowcontrol.priority_level import PRIORITY_LEVEL
from doorman.validation.metadata import metadata_validator, with_any_finalizer
from doorman.validation.networking.ingress import INGRESS, INGRESS_CLASS
from doorman.validation.networking.network_policy import NETWORK_POLICY
from doorman.validation.networking.ranges import IP_ADDRESS, SERVICE_CIDR
from doorman.validation.node.runtime_class import validate_runtime_class_create, validate_runtime_class_update
from doorman.validation.pods.pod import validate_pod_create
from doorman.validation.pods.pod_update import validate_pod_update
from doorman.validation.policy.disruption_budget import (
    validate_disruption_budget_create,
    validate_disruption_budget_update,
)
from doorman.validation.rbac import role_rules as roles
from doorman.validation.resource.device_class import DEVICE_CLASS
from doorman.validation.resource.device_taint_rule import DEVICE_TAINT_RULE
from doorman.validation.resource.pool_status_request import RESOURCE_POOL_STATUS_REQUEST
from doorman.validation.resource.resource_claim import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from doorman.validation.resource.resource_slice import RESOURCE_SLICE
from doorman.validation.scheduling.priority_class import validate_priority_class_create, validate_priority_class_update
from doorman.validation.storage import csi_drivers, storage_classes
from doorman.validation.storagemigration.storage_version import STORAGE_VERSION
from doorman.validation.storagemigration.storage_version_migration import STORAGE_VERSION_MIGRATION

__all__ = ["DEFAULT", "VALIDATORS", "Context", "Validator", "validator_of"]

DEFAULT: Final = metadata_validator()
"""For every other kind: metadata is all that is checked."""

_CHECKS: Final[Mapping[str, Validator]] = {
    "pods": Validator(create=validate_pod_create, update=validate_pod_update),
    "nodes": Validator(create=validate_node_create, update=validate_node_update),
    "namespaces": Validator(create=validate_namespace_create, update=validate_namespace_update),
    "events": Validator(create=validate_event_create, update=validate_event_update),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks.CONFIGURATION,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks.CONFIGURATION,
    "validatingadmissionpolicies.admissionregistration.k8s.io": policies.POLICY,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": policies.BINDING,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": policies.MUTATING_POLICY,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policies.MUTATING_BINDING,
    "dedicatednodes.doorman.dev": dedicated.DEDICATED_NODES,
    "tolerationpolicies.doorman.dev": dedicated.TOLERATION_POLICY,
    "certificatesigningrequests.certificates.k8s.io": CERTIFICATE_REQUEST,
    "endpoints": ENDPOINTS,
    "limitranges": LIMIT_RANGE,
    "configmaps": plain.CONFIG_MAP,
    "secrets": plain.SECRET,
    "services": SERVICE,
    "persistentvolumes": PERSISTENT_VOLUME,
    "persistentvolumeclaims": PERSISTENT_VOLUME_CLAIM,
    "resourcequotas": RESOURCE_QUOTA,
    "customresourcedefinitions.apiextensions.k8s.io": DEFINITION,
    "podtemplates": job.POD_TEMPLATE,
    "replicationcontrollers": workload.REPLICATION_CONTROLLER,
    "daemonsets.apps": workload.DAEMON_SET,
    "deployments.apps": workload.DEPLOYMENT,
    "replicasets.apps": workload.REPLICA_SET,
    "statefulsets.apps": workload.STATEFUL_SET,
    "jobs.batch": job.JOB,
    "cronjobs.batch": job.CRON_JOB,
    "leases.coordination.k8s.io": Validator(create=validate_lease_create, update=validate_lease_update),
    "leasecandidates.coordination.k8s.io": LEASE_CANDIDATE,
    "poddisruptionbudgets.policy": Validator(
        create=validate_disruption_budget_create, update=validate_disruption_budget_update
    ),
    "priorityclasses.scheduling.k8s.io": Validator(
        create=validate_priority_class_create, update=validate_priority_class_update
    ),
    "runtimeclasses.node.k8s.io": Validator(create=validate_runtime_class_create, update=validate_runtime_class_update),
    "resourceslices.resource.k8s.io": RESOURCE_SLICE,
    "devicetaintrules.resource.k8s.io": DEVICE_TAINT_RULE,
    "deviceclasses.resource.k8s.io": DEVICE_CLASS,
    "resourceclaims.resource.k8s.io": RESOURCE_CLAIM,
    "resourceclaimtemplates.resource.k8s.io": RESOURCE_CLAIM_TEMPLATE,
    "resourcepoolstatusrequests.resource.k8s.io": RESOURCE_POOL_STATUS_REQUEST,
    "roles.rbac.authorization.k8s.io": roles.ROLE,
    "clusterroles.rbac.authorization.k8s.io": roles.CLUSTER_ROLE,
    "rolebindings.rbac.authorization.k8s.io": roles.ROLE_BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": roles.CLUSTER_ROLE_BINDING,
    "storageclasses.storage.k8s.io": storage_classes.STORAGE_CLASS,
    "volumeattributesclasses.storage.k8s.io": storage_classes.VOLUME_ATTRIBUTES_CLASS,
    "csistoragecapacities.storage.k8s.io": storage_classes.CSI_STORAGE_CAPACITY,
    "csidrivers.storage.k8s.io": csi_drivers.CSI_DRIVER,
    "csinodes.storage.k8s.io": csi_drivers.CSI_NODE,
    "volumeattachments.storage.k8s.io": csi_drivers.VOLUME_ATTACHMENT,
    "endpointslices.discovery.k8s.io": ENDPOINT_SLICE,
    "horizontalpodautoscalers.autoscaling": HORIZONTAL_POD_AUTOSCALER,
    "ingresses.networking.k8s.io": INGRESS,
    "ingressclasses.networking.k8s.io": INGRESS_CLASS,
    "networkpolicies.networking.k8s.io": NETWORK_POLICY,
    "servicecidrs.networking.k8s.io": SERVICE_CIDR,
    "ipaddresses.networking.k8s.io": IP_ADDRESS,
    "apiservices.apiregistration.k8s.io": API_SERVICE,
    "controllerrevisions.apps": CONTROLLER_REVISION,
    "storageversions.internal.apiserver.k8s.io": STORAGE_VERSION,
    "storageversionmigrations.storagemigration.k8s.io": STORAGE_VERSION_MIGRATION,
    "flowschemas.flowcontrol.apiserver.k8s.io": FLOW_SCHEMA,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": PRIORITY_LEVEL,
    "clustertrustbundles.certificates.k8s.io": TRUST_BUNDLE,
    "podcertificaterequests.certificates.k8s.io": POD_CERTIFICATE_REQUEST,
}

_ANY_FINALIZER: Final = (
    "admissionregistration.k8s.io", "coordination.k8s.io", "policy", "apiextensions.k8s.io", "apiregistration.k8s.io",
    "node.k8s.io",
)  # fmt: skip
"""Groups whose objects may have a finalizer without a domain that is none of Kubernetes' own."""


def _validator(storage: str, check: Validator) -> Validator:
    in_order = with_declared_last(storage, check)
    return with_any_finalizer(in_order) if storage.partition(".")[2] in _ANY_FINALIZER else in_order


VALIDATORS: Final[Mapping[str, Validator]] = {name: _validator(name, check) for name, check in _CHECKS.items()}


def validator_of(storage: str) -> Validator:
    return VALIDATORS.get(storage, DEFAULT)
