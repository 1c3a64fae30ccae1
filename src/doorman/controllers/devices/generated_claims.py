"""Claims that are made for a pod from templates: their names and manifests, and what the pod is told of them."""

from typing import Any, Final
from zlib import crc32

import msgspec

from doorman.api.views.object_indexes import BY_OWNER
from doorman.api.views.pods import Pod, PodResourceClaim
from doorman.api.views.resource.resource_claims import (
    CLAIM_TEMPLATES,
    POD_CLAIM_ANNOTATION,
    ResourceClaim,
    ResourceClaimTemplate,
)
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import safe_suffix
from doorman.semantics.devices.pod_claims import is_made_for

NAME_BASE_MAX: Final = 57
"""A dash and five letters follow, and a name has at most 63."""

Manifest = dict[str, Any]  # JSON


class MissingTemplate(Exception):
    """The text is Kubernetes' own."""


def generate_name(pod_name: str, entry: str) -> str:
    """Both names; shortened in proportion when they are too long together.

    >>> generate_name("web-1", "gpu")
    'web-1-gpu-'
    >>> len(generate_name("p" * 60, "c" * 60)), generate_name("p" * 60, "c" * 60)[-3:]
    (57, 'ccc')
    """
    whole = f"{pod_name}-{entry}-"
    if len(whole) <= NAME_BASE_MAX:
        return whole
    of_pod = pod_name[: len(pod_name) * NAME_BASE_MAX // len(whole)]
    shorter = entry[: len(entry) * NAME_BASE_MAX // len(whole)]
    return f"{of_pod}-{shorter}"


def existing_claim(pod: Pod, entry: PodResourceClaim, claims: ListerOf[ResourceClaim]) -> ResourceClaim | None:
    """The claim that was made for the entry, whether or not the pod was told."""
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name and status.resource_claim_name:
            named = claims.get(f"{pod.metadata.namespace}/{status.resource_claim_name}")
            if named is not None and is_made_for(named, pod):
                return named
    for claim in claims.by(BY_OWNER, pod.metadata.uid):
        if claim.metadata.annotations.get(POD_CLAIM_ANNOTATION) == entry.name and is_made_for(claim, pod):
            return claim
    return None


def claim_manifest_from(
    template: ResourceClaimTemplate | None, pod: Pod, entry: PodResourceClaim, *, attempt: int
) -> Manifest:
    """Raises MissingTemplate. The name is chosen here so that the pod can be told in the same turn."""
    if template is None:
        name = entry.resource_claim_template_name
        missing = f'{CLAIM_TEMPLATES.replace("templates", "template")} "{name}" not found'
        raise MissingTemplate(f'resource claim template "{name}": {missing}')
    base = generate_name(pod.metadata.name, entry.name)
    suffix = safe_suffix(crc32(f"{pod.metadata.uid}/{entry.name}/{attempt}".encode()))
    own = template.spec.metadata
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid, "controller": True}
    metadata: Manifest = {
        "name": f"{base}{suffix}" if base.endswith("-") else f"{base}-{suffix}",
        "generateName": base,
        "namespace": pod.metadata.namespace,
        "annotations": {**own.annotations, POD_CLAIM_ANNOTATION: entry.name},
        "ownerReferences": [owner],
    }
    if own.labels:
        metadata["labels"] = dict(own.labels)
    return {"metadata": metadata, "spec": _copy(template.spec.spec)}


def _copy(spec: Manifest) -> Manifest:
    copied: Manifest = msgspec.json.decode(msgspec.json.encode(spec))
    return copied


def asks_for_admin_access(manifest: Manifest) -> bool:
    requests = manifest["spec"].get("devices", {}).get("requests") or []
    return any((request.get("exactly") or {}).get("adminAccess") for request in requests)
