"""What a pod refers to in the API: by its account, containers, volumes and claims."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Reference = tuple[str, str]
"""A resource of the pod's namespace, and a name."""

_SECRET_REFS: Final = ("secretRef", "nodePublishSecretRef")
_VOLUMES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_SOURCES: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}
_Json = Mapping[str, Any]  # a document or a part of one


def references_of(pod: _Json) -> Iterator[Reference]:
    """Everything in its namespace that a pod needs."""
    spec = pod.get("spec", {})
    if spec.get("serviceAccountName"):
        yield "serviceaccounts", spec["serviceAccountName"]
    for secret in spec.get("imagePullSecrets", ()):
        yield "secrets", secret.get("name", "")
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group, ()):
            yield from _of_container(container)
    for volume in spec.get("volumes", ()):
        yield from _of_volume(pod["metadata"].get("name", ""), volume)
    for claim in spec.get("resourceClaims", ()):
        if claim.get("resourceClaimName"):
            yield "resourceclaims", claim["resourceClaimName"]
    status = pod.get("status", {})
    for claim in status.get("resourceClaimStatuses", ()):
        yield "resourceclaims", claim.get("resourceClaimName", "")
    extended = status.get("extendedResourceClaimStatus", {})
    if extended.get("resourceClaimName"):
        yield "resourceclaims", extended["resourceClaimName"]


def first_reference(pod: _Json) -> str:
    """In Kubernetes' words, what a pod that must stand alone refers to first; empty when it does stand alone."""
    spec: _Json = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    found = dict.fromkeys(resource for resource, _ in references_of(pod))
    for resource in ("secrets", "configmaps"):
        if resource in found:
            return resource
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        if shown := _first_of(volume, _VOLUMES):
            return shown
        for source in (volume.get("projected") or {}).get("sources") or ():
            if shown := _first_of(source, _SOURCES):
                return shown
    return ""


def _first_of(holder: _Json, names: Mapping[str, str]) -> str:
    return next((shown for name, shown in names.items() if name in holder), "")


def _of_container(container: _Json) -> Iterator[Reference]:
    for source in container.get("envFrom", ()):
        if "secretRef" in source:
            yield "secrets", source["secretRef"].get("name", "")
        if "configMapRef" in source:
            yield "configmaps", source["configMapRef"].get("name", "")
    for variable in container.get("env", ()):
        value = variable.get("valueFrom", {})
        if "secretKeyRef" in value:
            yield "secrets", value["secretKeyRef"].get("name", "")
        if "configMapKeyRef" in value:
            yield "configmaps", value["configMapKeyRef"].get("name", "")


def _of_volume(pod_name: str, volume: _Json) -> Iterator[Reference]:
    if "secret" in volume:
        yield "secrets", volume["secret"].get("secretName", "")
    if "configMap" in volume:
        yield "configmaps", volume["configMap"].get("name", "")
    if "persistentVolumeClaim" in volume:
        yield "persistentvolumeclaims", volume["persistentVolumeClaim"].get("claimName", "")
    if "ephemeral" in volume:
        yield "persistentvolumeclaims", f"{pod_name}-{volume.get('name', '')}"
    for source in volume.get("projected", {}).get("sources") or ():
        if "secret" in source:
            yield "secrets", source["secret"].get("name", "")
        if "configMap" in source:
            yield "configmaps", source["configMap"].get("name", "")
    for plugin in volume.values():
        if isinstance(plugin, dict):
            for member in _SECRET_REFS:
                if isinstance(plugin.get(member), dict):
                    yield "secrets", plugin[member].get("name", "")
            if isinstance(plugin.get("secretName"), str):
                yield "secrets", plugin["secretName"]
