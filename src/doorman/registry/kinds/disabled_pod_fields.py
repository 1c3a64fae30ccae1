"""Fields of pods whose features are off: they are read, and owned by who sent them, and then left out."""

from collections.abc import Iterable
from typing import Any, Final

from doorman.base.json_types import Document

_PATHS: Final = {
    "pods": ("spec",),
    "podtemplates": ("template", "spec"),
    "replicationcontrollers": ("spec", "template", "spec"),
    "daemonsets.apps": ("spec", "template", "spec"),
    "deployments.apps": ("spec", "template", "spec"),
    "replicasets.apps": ("spec", "template", "spec"),
    "statefulsets.apps": ("spec", "template", "spec"),
    "jobs.batch": ("spec", "template", "spec"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template", "spec"),
}
"""Where the spec of a pod is, by kind."""
_OF_PODS: Final = ("schedulingGroup", "evictionResponders")
_OF_STATUS: Final = ("nodeAllocatableResourceClaimStatuses", "volumeHealth")
_GROUPS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")
_FILES: Final = ("secret", "configMap", "downwardAPI", "projected")
_PROJECTED: Final = (
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
)

_Json = dict[str, Any]  # a part of a document, changed in place


def drop_disabled_fields(storage: str, doc: Document) -> None:
    """In place. `storage` is the kind's."""
    path = _PATHS.get(storage)
    if path is None:
        return
    spec: Any = doc
    for name in path:
        spec = spec.get(name)
        if not isinstance(spec, dict):
            return
    for name in _OF_PODS:
        spec.pop(name, None)
    for group in _GROUPS:
        for container in spec.get(group) or ():
            _drop_of_container(container)
    for volume in spec.get("volumes") or ():
        _drop_of_volume(volume)


def drop_disabled_status(status: Document) -> None:
    """The same of a pod's status."""
    for name in _OF_STATUS:
        status.pop(name, None)
    for group in _STATUSES:
        for container in status.get(group) or ():
            for mount in container.get("volumeMounts") or ():
                mount.pop("volumeStatus", None)


def _drop_of_container(container: _Json) -> None:
    for mount in container.get("volumeMounts") or ():
        mount.pop("bindMountOptions", None)
    for name in _PROBES:
        if probe := container.get(name):
            for action in ("httpGet", "grpc"):
                (probe.get(action) or {}).pop("protocol" if action == "httpGet" else "mode", None)
    if lifecycle := container.get("lifecycle"):
        for name in _HOOKS:
            ((lifecycle.get(name) or {}).get("httpGet") or {}).pop("protocol", None)
        if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
            del container["lifecycle"]


def _drop_of_volume(volume: _Json) -> None:
    if "emptyDir" in volume:
        volume["emptyDir"].pop("mode", None)
    for name in _FILES:
        if source := volume.get(name):
            source.pop("defaultUser", None)
            _drop_users(source.get("items") or ())
            for projected in source.get("sources") or ():
                for inner in _PROJECTED:
                    if found := projected.get(inner):
                        _drop_users((found, *(found.get("items") or ())))


def _drop_users(files: Iterable[_Json]) -> None:
    """Files belong to whom the pod says."""
    for file in files:
        file.pop("user", None)
        file.pop("defaultUser", None)
