"""Which validator checks which kind, by the name of its storage (`pods`, `daemonsets.apps`)."""

from collections.abc import Mapping
from typing import Final

from doorman.semantics.name_syntax import path_segment_faults
from doorman.validation import dedicated, job, plain, webhooks, workload
from doorman.validation.certificate_request import CERTIFICATE_REQUEST
from doorman.validation.context import Context, Validator
from doorman.validation.custom_resource_definition import DEFINITION
from doorman.validation.disruption_budget import validate_disruption_budget_create, validate_disruption_budget_update
from doorman.validation.event import validate_event_create, validate_event_update
from doorman.validation.lease import validate_lease_create, validate_lease_update
from doorman.validation.metadata import metadata_validator
from doorman.validation.namespace import validate_namespace_create, validate_namespace_update
from doorman.validation.node import validate_node_create, validate_node_update
from doorman.validation.pod import validate_pod_create
from doorman.validation.pod_update import validate_pod_update
from doorman.validation.priority_class import validate_priority_class_create, validate_priority_class_update
from doorman.validation.resource.device_class import DEVICE_CLASS
from doorman.validation.resource.device_taint_rule import DEVICE_TAINT_RULE
from doorman.validation.resource.pool_status_request import RESOURCE_POOL_STATUS_REQUEST
from doorman.validation.resource.resource_claim import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from doorman.validation.resource.resource_slice import RESOURCE_SLICE
from doorman.validation.runtime_class import validate_runtime_class_create, validate_runtime_class_update
from doorman.validation.service import SERVICE

__all__ = ["DEFAULT", "VALIDATORS", "Context", "Validator", "validator_of"]

DEFAULT: Final = metadata_validator()
"""For every other kind: metadata is all that is checked."""

VALIDATORS: Final[Mapping[str, Validator]] = {
    "pods": Validator(create=validate_pod_create, update=validate_pod_update),
    "nodes": Validator(create=validate_node_create, update=validate_node_update),
    "namespaces": Validator(create=validate_namespace_create, update=validate_namespace_update),
    "events": Validator(create=validate_event_create, update=validate_event_update),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks.CONFIGURATION,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks.CONFIGURATION,
    "validatingadmissionpolicies.admissionregistration.k8s.io": webhooks.POLICY,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": webhooks.BINDING,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": webhooks.MUTATING_POLICY,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": webhooks.MUTATING_BINDING,
    "dedicatednodes.doorman.dev": dedicated.DEDICATED_NODES,
    "tolerationpolicies.doorman.dev": dedicated.TOLERATION_POLICY,
    "certificatesigningrequests.certificates.k8s.io": CERTIFICATE_REQUEST,
    "configmaps": plain.CONFIG_MAP,
    "secrets": plain.SECRET,
    "services": SERVICE,
    "resourcequotas": plain.RESOURCE_QUOTA,
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
    "roles.rbac.authorization.k8s.io": plain.ROLE,
    "clusterroles.rbac.authorization.k8s.io": plain.ROLE,
    "rolebindings.rbac.authorization.k8s.io": plain.ROLE_BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": plain.ROLE_BINDING,
    "storageclasses.storage.k8s.io": plain.STORAGE_CLASS,
    "apiservices.apiregistration.k8s.io": metadata_validator(path_segment_faults),
    "flowschemas.flowcontrol.apiserver.k8s.io": metadata_validator(path_segment_faults),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": metadata_validator(path_segment_faults),
}


def validator_of(storage: str) -> Validator:
    return VALIDATORS.get(storage, DEFAULT)
