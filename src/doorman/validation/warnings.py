"""What is accepted with a warning, by the name of a kind's storage."""

from collections.abc import Callable, Mapping
from typing import Final

from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.addresses import cidr_warnings, ip_warnings
from doorman.validation import object_warnings
from doorman.validation.apiextensions.definition_warnings import definition_warnings
from doorman.validation.core.service import TOPOLOGY_HINTS, TOPOLOGY_MODE
from doorman.validation.pods.pod_warnings import claim_warnings, pod_warnings, term_warnings

Warn = Callable[[Document, Document | None], list[str]]
"""From what is written and what was there (None: nothing) to what is said."""

_TOKENS_IN_ATTRIBUTES: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
_VOLUME_ANNOTATIONS: Final = (
    ("volume.beta.kubernetes.io/storage-class", 'deprecated since v1.8; use "storageClassName" attribute instead'),
    ("volume.beta.kubernetes.io/mount-options", 'deprecated since v1.31; use "mountOptions" attribute instead'),
)
_RECYCLED: Final = (
    "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
)
_OLD_VOLUMES: Final = (
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
)


def _pod(doc: Document, old: Document | None) -> list[str]:
    """A pod is hardly ever changed by a human."""
    return pod_warnings(doc) if old is None else []


def _template(*members: str) -> Warn:
    """A workload's template is looked at when the workload is new or has changed."""

    def warn(doc: Document, old: Document | None) -> list[str]:
        if old is not None and doc["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        template = doc
        for member in members:
            template = template.get(member) or {}
        return pod_warnings(template, ".".join(members))

    return warn


def _claim(doc: Document, _old: Document | None) -> list[str]:
    name, text = _VOLUME_ANNOTATIONS[0]
    is_old = name in (doc["metadata"].get("annotations") or {})
    found = [f"metadata.annotations[{name}]: {text}"] if is_old else []
    return [*found, *claim_warnings(doc.get("spec") or {}, "spec")]


def _volume(doc: Document, _old: Document | None) -> list[str]:
    spec, annotations = doc.get("spec") or {}, doc["metadata"].get("annotations") or {}
    found = [f"metadata.annotations[{name}]: {text}" for name, text in _VOLUME_ANNOTATIONS if name in annotations]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLED}")
    wanted = (spec.get("nodeAffinity") or {}).get("required") or {}
    path = "spec.nodeAffinity.required.nodeSelectorTerms"
    for index, term in enumerate(wanted.get("nodeSelectorTerms") or ()):
        found += term_warnings(term, f"{path}[{index}]", with_values=False)
    found += [f"spec.{name}: {text}" for name, text in _OLD_VOLUMES if spec.get(name) is not None]
    return found


def _endpoint_slice(doc: Document, old: Document | None) -> list[str]:
    kind = doc.get("addressType")
    if kind == "FQDN":
        return ["spec.addressType: FQDN endpoints are deprecated"] if old is None else []
    return [
        warning
        for index, endpoint in enumerate(doc.get("endpoints") or ())
        for place, address in enumerate(endpoint.get("addresses") or ())
        for warning in ip_warnings(address, f"endpoints[{index}].addresses[{place}]")
    ]


def _csi_driver(doc: Document, old: Document | None) -> list[str]:
    spec = doc.get("spec") or {}
    if old is not None and spec.get("tokenRequests") == (old.get("spec") or {}).get("tokenRequests"):
        return []
    is_open = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
    return [_TOKENS_IN_ATTRIBUTES] if is_open else []


def _service(doc: Document, _old: Document | None) -> list[str]:
    spec = doc.get("spec") or {}
    is_external, is_headless = spec.get("type") == "ExternalName", spec.get("clusterIP") == "None"
    addresses, found = spec.get("externalIPs") or (), []
    if TOPOLOGY_HINTS in (doc["metadata"].get("annotations") or {}):
        found.append(f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    for index, address in enumerate(spec.get("clusterIPs") or () if not is_headless and not is_external else ()):
        found += ip_warnings(address, f"spec.clusterIPs[{index}]")
    if is_headless and not is_external:
        ignored = {"loadBalancerIP": spec.get("loadBalancerIP"), "externalIPs": addresses}
        found += [f"spec.{name} is ignored for headless services" for name, value in ignored.items() if value]
        if spec.get("sessionAffinity") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    for index, address in enumerate(addresses):
        found += ip_warnings(address, f"spec.externalIPs[{index}]")
    if addresses and not is_headless and not is_external:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        found += ip_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += cidr_warnings(text, f"spec.loadBalancerSourceRanges[{index}]")
    if is_external and addresses:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not is_external and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _resource_slice(doc: Document, _old: Document | None) -> list[str]:
    driver = (doc.get("spec") or {}).get("driver") or ""
    text = f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"
    return [text] if driver != driver.lower() else []


def _when_new(warn: Warn) -> Warn:
    """For a kind of whose changes upstream says nothing."""
    return lambda doc, old: warn(doc, old) if old is None else []


def _all(*warns: Warn) -> Warn:
    return lambda doc, old: [warning for warn in warns for warning in warn(doc, old)]


WARNINGS: Final[Mapping[str, Warn]] = {
    "pods": _pod,
    "podtemplates": _template("template"),
    "replicationcontrollers": _when_new(_all(object_warnings.pod_name_base, _template("spec", "template"))),
    "replicasets.apps": _all(object_warnings.pod_name_base, _template("spec", "template")),
    "deployments.apps": _all(object_warnings.pod_name_base, _template("spec", "template")),
    "daemonsets.apps": _template("spec", "template"),
    "statefulsets.apps": _all(_template("spec", "template"), object_warnings.stateful_set),
    "jobs.batch": _all(object_warnings.pod_name_base, _template("spec", "template")),
    "cronjobs.batch": _all(object_warnings.pod_name_base, _template("spec", "jobTemplate", "spec", "template")),
    "nodes": object_warnings.node,
    "customresourcedefinitions.apiextensions.k8s.io": definition_warnings,
    "secrets": object_warnings.secret,
    "endpoints": object_warnings.endpoints,
    "serviceaccounts": object_warnings.service_account,
    "ingresses.networking.k8s.io": object_warnings.ingress,
    "networkpolicies.networking.k8s.io": object_warnings.network_policy,
    "runtimeclasses.node.k8s.io": object_warnings.runtime_class,
    "persistentvolumes": _volume,
    "persistentvolumeclaims": _claim,
    "services": _service,
    "endpointslices.discovery.k8s.io": _endpoint_slice,
    "csidrivers.storage.k8s.io": _csi_driver,
    "resourceslices.resource.k8s.io": _resource_slice,
}


def warnings_of(storage: str, doc: Document, old: Document | None, *, is_custom: bool = False) -> list[str]:
    warn = object_warnings.custom_object if is_custom else WARNINGS.get(storage)
    return warn(doc, old) if warn is not None else []
