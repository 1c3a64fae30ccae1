"""The scale subresource: a workload's replicas under a name autoscalers and `kubectl scale` know."""

import msgspec

from doorman.api.labels import format_selector
from doorman.api.meta import LabelSelector
from doorman.api.schema import Document

_MEMBERS = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def to_scale(workload: Document) -> Document:
    metadata, spec, status = workload["metadata"], workload.get("spec", {}), workload.get("status", {})
    raw = spec.get("selector")
    if raw is None:
        selector = ""
    elif "matchLabels" in raw or "matchExpressions" in raw:
        selector = format_selector(msgspec.convert(raw, LabelSelector))
    else:
        selector = ",".join(f"{key}={value}" for key, value in sorted(raw.items()))
    out: Document = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _MEMBERS if name in metadata},
        "spec": {},
        "status": {"replicas": status.get("replicas", 0)},
    }
    if spec.get("replicas"):
        out["spec"]["replicas"] = spec["replicas"]
    if selector:
        out["status"]["selector"] = selector
    return out


def with_scale(workload: Document, scale: Document) -> Document:
    """The workload with the replicas (and the lock) of a Scale."""
    metadata = dict(workload["metadata"])
    wanted = scale.get("metadata", {}).get("resourceVersion")
    if wanted:
        metadata["resourceVersion"] = wanted
    replicas = scale.get("spec", {}).get("replicas", 0)
    return {**workload, "metadata": metadata, "spec": {**workload.get("spec", {}), "replicas": replicas}}
