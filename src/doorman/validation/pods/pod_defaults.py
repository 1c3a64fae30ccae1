"""What a pod gets that nobody wrote: the defaults of its spec, in place.

The order of members is that of the API's own answers where it can be had for nothing; nobody relies on it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from doorman.api.machinery.quantity import in_thousandths
from doorman.base.json_types import Document
from doorman.semantics.pods.image_references import image_tag

MODE: Final = 0o644
"""Of files that a volume is filled with, 420 in JSON."""

_MODED_VOLUMES: Final = ("secret", "configMap", "downwardAPI", "projected")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINER_GROUPS: Final = ("initContainers", "containers", "ephemeralContainers")
_NOT_SOURCES: Final = frozenset({"name"})

_Json = dict[str, Any]  # a part of a document, changed in place


def default_pod(doc: Document) -> None:
    """A pod gets more than the template it is made from: requests, host ports, links to services."""
    spec = doc.setdefault("spec", {})
    default_pod_spec(spec)
    for group in ("initContainers", "containers"):
        for container in spec.get(group) or ():
            if container["resources"]:
                _default_requests(container["resources"])
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)


def default_pod_spec(spec: _Json) -> None:
    """Of a pod, and of the pod inside a workload."""
    for group in _CONTAINER_GROUPS:
        for container in spec.get(group) or ():
            default_container(container)
    if volumes := spec.get("volumes"):
        _default_volumes(volumes)
    if resources := spec.get("resources"):
        round_amounts(resources.get("limits"))
        round_amounts(resources.get("requests"))
    round_amounts(spec.get("overhead"))
    defaults = spec.setdefault
    defaults("restartPolicy", "Always")
    defaults("terminationGracePeriodSeconds", 30)
    defaults("dnsPolicy", "ClusterFirst")
    defaults("securityContext", {})
    defaults("schedulerName", "default-scheduler")
    # Two names for one field: the old one follows the new one, unless only the old one was given.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def default_container(container: _Json) -> None:
    defaults = container.setdefault
    if resources := defaults("resources", {}):
        round_amounts(resources.get("limits"))
        round_amounts(resources.get("requests"))
    defaults("terminationMessagePath", "/dev/termination-log")
    defaults("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for probe in _PROBES:
        if probe in container:
            _default_probe(container[probe])
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and "httpGet" in hook:
            _default_http_get(hook["httpGet"])
    for variable in container.get("env") or ():
        _default_field_ref(variable.get("valueFrom"))


def round_amounts(amounts: dict[str, str] | None) -> None:
    """Resources are counted in thousandths."""
    for name, amount in (amounts or {}).items():
        if amount[-1:] in ("u", "n") or "-" in amount:
            (amounts or {})[name] = in_thousandths(amount)


def pull_policy(image: str) -> str:
    """Always for `latest`, said or unsaid; a tag or a digest pins the image, and what is no image is not pulled again.

    >>> pull_policy("nginx"), pull_policy("localhost:5000/nginx"), pull_policy("nginx:1.27"), pull_policy("a@sha256:b")
    ('Always', 'Always', 'IfNotPresent', 'IfNotPresent')
    """
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def _default_requests(resources: _Json) -> None:
    """A limit without a request asks for as much."""
    limits = resources.get("limits")
    if not limits:
        return
    requests = resources.setdefault("requests", {})
    for name, quantity in limits.items():
        requests.setdefault(name, quantity)


def _default_host_ports(spec: _Json) -> None:
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def _default_probe(probe: _Json) -> None:
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = value
    if "httpGet" in probe:
        _default_http_get(probe["httpGet"])
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http_get(action: _Json) -> None:
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def _default_field_ref(source: _Json | None) -> None:
    if source and "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")


def _default_volumes(volumes: Iterable[_Json]) -> None:
    for volume in volumes:
        if volume.keys() <= _NOT_SOURCES:
            volume["emptyDir"] = {}
            continue
        for source in _MODED_VOLUMES:
            if source in volume:
                volume[source].setdefault("defaultMode", MODE)
        default_source(volume)
        for item in (volume.get("downwardAPI") or {}).get("items") or ():
            _default_field_ref(item)
        for source in (volume.get("projected") or {}).get("sources") or ():
            _default_projection(source)
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is not None:
            template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


SOURCE_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
"""Of volumes' sources, by the name of the source."""


def default_source(holder: _Json) -> None:
    """The source of a volume: of a pod, or a PersistentVolume."""
    for name, defaults in SOURCE_DEFAULTS.items():
        if (source := holder.get(name)) is not None:
            for member, value in defaults.items():
                source.setdefault(member, value)
    if (image := holder.get("image")) is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference") or "")


def _default_projection(source: _Json) -> None:
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    for item in (source.get("downwardAPI") or {}).get("items") or ():
        _default_field_ref(item)
