"""Which defaults are filled into which kind, by the name of its storage; each function changes a document in place."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from doorman.api.kinds import Kind
from doorman.api.well_known import RBAC_GROUP
from doorman.base.json_types import Document
from doorman.validation.apiextensions.custom_resource_definition import default_definition
from doorman.validation.apps.workload_defaults import (
    default_cron_job,
    default_daemon_set,
    default_deployment,
    default_job,
    default_pod_template,
    default_replica_set,
    default_replication_controller,
    default_stateful_set,
)
from doorman.validation.certificates.pod_certificate_request import default_pod_certificate_request
from doorman.validation.pods.pod_defaults import default_pod, default_source, round_amounts
from doorman.validation.resource.resource_defaults import RESOURCE_DEFAULTERS

Defaulter = Callable[[Document], None]

_CPU_PERCENT: Final = 80
_SCALING_PERIOD_SECONDS: Final = 15

_Json = dict[str, Any]  # a part of a document, changed in place


def default_node(doc: Document) -> None:
    status = doc.get("status")
    if status:
        round_amounts(status.get("capacity"))
        round_amounts(status.get("allocatable"))
    if status and status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    spec = doc.get("spec")
    if spec:
        _default_pod_ranges(spec)


def _default_pod_ranges(spec: _Json) -> None:
    """One range and the list of them say the same; where they differ the one counts."""
    first, every = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not every or every[0] != first):
        spec["podCIDRs"] = [first]
    elif every and not first:
        spec["podCIDR"] = every[0]


def default_service(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {}).setdefault("timeoutSeconds", 10800)
    if kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in ((doc.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")


def default_secret(doc: Document) -> None:
    """`stringData` is for writing only."""
    doc.setdefault("type", "Opaque")
    if plain := doc.pop("stringData", None):
        data = doc.get("data") or {}
        doc["data"] = {**data, **{name: base64.b64encode(value.encode()).decode() for name, value in plain.items()}}


def default_namespace(doc: Document) -> None:
    if name := doc["metadata"].get("name"):
        labels = doc["metadata"].get("labels") or {}
        doc["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": name}
    status = doc.get("status") or {}
    if not status.get("phase"):
        doc["status"] = {**status, "phase": "Active"}


def default_endpoints(doc: Document) -> None:
    for subset in doc.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(doc: Document) -> None:
    for port in doc.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_limit_range(doc: Document) -> None:
    """For containers: what is not said of the default is taken from the bounds."""
    for limit in (doc.get("spec") or {}).get("limits") or ():
        for bound in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            round_amounts(limit.get(bound))
        if limit.get("type") != "Container":
            continue
        _fill(limit, "default", limit.get("max"))
        _fill(limit, "defaultRequest", limit.get("default"))
        _fill(limit, "defaultRequest", limit.get("min"))


def default_persistent_volume(doc: Document) -> None:
    doc.setdefault("status", {}).setdefault("phase", "Pending")
    spec = doc.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    round_amounts(spec.get("capacity"))
    default_source(spec)


def default_persistent_volume_claim(doc: Document) -> None:
    status, spec = doc.setdefault("status", {}), doc.setdefault("spec", {})
    status.setdefault("phase", "Pending")
    spec.setdefault("volumeMode", "Filesystem")
    round_amounts(status.get("capacity"))
    round_amounts(status.get("allocatedResources"))
    if resources := spec.get("resources"):
        round_amounts(resources.get("limits"))
        round_amounts(resources.get("requests"))


def default_resource_quota(doc: Document) -> None:
    round_amounts((doc.get("spec") or {}).get("hard"))
    status = doc.get("status") or {}
    round_amounts(status.get("hard"))
    round_amounts(status.get("used"))


def default_priority_class(doc: Document) -> None:
    doc.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_storage_class(doc: Document) -> None:
    doc.setdefault("reclaimPolicy", "Delete")
    doc.setdefault("volumeBindingMode", "Immediate")


def default_csi_driver(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    for field, value in (
        ("attachRequired", True), ("podInfoOnMount", False), ("storageCapacity", False),
        ("fsGroupPolicy", "ReadWriteOnceWithFSType"), ("requiresRepublish", False), ("seLinuxMount", False),
        ("preventPodSchedulingIfMissing", False),
    ):  # fmt: skip
        spec.setdefault(field, value)
    spec.setdefault("volumeLifecycleModes", ["Persistent"])


def default_role_binding(doc: Document) -> None:
    reference = doc.setdefault("roleRef", {})
    reference["apiGroup"] = reference.get("apiGroup") or RBAC_GROUP
    for subject in doc.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", RBAC_GROUP)


def default_autoscaler(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if (behavior := spec.get("behavior")) is not None:
        up = behavior.setdefault("scaleUp", {})
        up.setdefault("stabilizationWindowSeconds", 0)
        _default_scaling(up, [("Pods", 4), ("Percent", 100)])
        _default_scaling(behavior.setdefault("scaleDown", {}), [("Percent", 100)])


def _default_scaling(rules: _Json, policies: list[tuple[str, int]]) -> None:
    rules.setdefault("selectPolicy", "Max")
    if rules.get("policies") is None:
        rules["policies"] = [
            {"type": kind, "value": value, "periodSeconds": _SCALING_PERIOD_SECONDS} for kind, value in policies
        ]


def default_network_policy(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_ingress_class(doc: Document) -> None:
    if (parameters := (doc.get("spec") or {}).get("parameters")) is not None:
        parameters.setdefault("scope", "Cluster")


def default_mutating_webhooks(doc: Document) -> None:
    default_webhooks(doc)
    for webhook in doc.get("webhooks") or ():
        webhook.setdefault("reinvocationPolicy", "Never")


def default_webhooks(doc: Document) -> None:
    for webhook in doc.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        _default_rules(webhook.get("rules"))
        if service := (webhook.get("clientConfig") or {}).get("service"):
            service.setdefault("port", 443)


def default_admission_policy(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if (constraints := spec.get("matchConstraints")) is not None:
        _default_match(constraints)


def default_admission_binding(doc: Document) -> None:
    if (resources := (doc.get("spec") or {}).get("matchResources")) is not None:
        _default_match(resources)


def default_admission_binding_v1alpha1(doc: Document) -> None:
    default_admission_binding(doc)
    if (params := (doc.get("spec") or {}).get("paramRef")) is not None:
        params.setdefault("parameterNotFoundAction", "Deny")


def default_flow_schema(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def default_priority_level(doc: Document) -> None:
    spec = doc.get("spec") or {}
    if (exempt := spec.get("exempt")) is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)
    if (limited := spec.get("limited")) is None:
        return
    limited.setdefault("nominalConcurrencyShares", 30)
    limited.setdefault("lendablePercent", 0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            if not queuing.get(name):
                queuing[name] = value


def default_api_service(doc: Document) -> None:
    if (service := (doc.get("spec") or {}).get("service")) is not None:
        service.setdefault("port", 443)


def _default_match(resources: _Json) -> None:
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    _default_rules(resources.get("resourceRules"))
    _default_rules(resources.get("excludeResourceRules"))


def _default_rules(rules: list[_Json] | None) -> None:
    for rule in rules or ():
        rule.setdefault("scope", "*")


def _fill(limit: _Json, field: str, source: Mapping[str, str] | None) -> None:
    if not source:
        return
    amounts = limit.setdefault(field, {})
    for name, quantity in source.items():
        if name not in amounts:
            amounts[name] = quantity


DEFAULTERS: Final[Mapping[str, Defaulter]] = {
    "podcertificaterequests.certificates.k8s.io": default_pod_certificate_request,
    "pods": default_pod,
    "nodes": default_node,
    "services": default_service,
    "secrets": default_secret,
    "namespaces": default_namespace,
    "endpoints": default_endpoints,
    "limitranges": default_limit_range,
    "resourcequotas": default_resource_quota,
    "persistentvolumes": default_persistent_volume,
    "persistentvolumeclaims": default_persistent_volume_claim,
    "podtemplates": default_pod_template,
    "replicationcontrollers": default_replication_controller,
    "daemonsets.apps": default_daemon_set,
    "deployments.apps": default_deployment,
    "replicasets.apps": default_replica_set,
    "statefulsets.apps": default_stateful_set,
    "jobs.batch": default_job,
    "cronjobs.batch": default_cron_job,
    "endpointslices.discovery.k8s.io": default_endpoint_slice,
    "priorityclasses.scheduling.k8s.io": default_priority_class,
    "customresourcedefinitions.apiextensions.k8s.io": default_definition,
    "storageclasses.storage.k8s.io": default_storage_class,
    "csidrivers.storage.k8s.io": default_csi_driver,
    "rolebindings.rbac.authorization.k8s.io": default_role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": default_role_binding,
    "horizontalpodautoscalers.autoscaling": default_autoscaler,
    "networkpolicies.networking.k8s.io": default_network_policy,
    "ingressclasses.networking.k8s.io": default_ingress_class,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": default_mutating_webhooks,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": default_webhooks,
    "validatingadmissionpolicies.admissionregistration.k8s.io": default_admission_policy,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": default_admission_policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": default_admission_binding,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": default_admission_binding,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io/v1alpha1": default_admission_binding_v1alpha1,
    "flowschemas.flowcontrol.apiserver.k8s.io": default_flow_schema,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": default_priority_level,
    "apiservices.apiregistration.k8s.io": default_api_service,
    **RESOURCE_DEFAULTERS,
}
"""By the name of the storage, with a version where that has defaults of its own."""


def defaulter_of(kind: Kind) -> Defaulter | None:
    return DEFAULTERS.get(f"{kind.storage}/{kind.version}") or DEFAULTERS.get(kind.storage)


WITH_STATUS_DEFAULTS: Final = frozenset(
    {
        "nodes",
        "services",
        "persistentvolumes",
        "persistentvolumeclaims",
        "resourcequotas",
        "daemonsets.apps",
        "namespaces",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)
"""Kinds of which a write of the status alone is defaulted, too."""
