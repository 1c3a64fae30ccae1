"""Pods and nodes in a line: documents for tests, taints in kubectl's short form."""

from typing import Any

Document = dict[str, Any]


def taint(text: str) -> Document:
    """`key=value:Effect` or `key:Effect`."""
    name, _, effect = text.rpartition(":")
    key, equals, value = name.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if equals else {})}


def toleration(text: str) -> Document:
    """`key=value:Effect`, `key:Effect` (Exists), with `@60` for seconds; `*` is every key, no effect every effect."""
    text, at, seconds = text.partition("@")
    name, _, effect = text.partition(":")
    key, equals, value = name.partition("=")
    out: Document = {"operator": "Equal", "value": value} if equals else {"operator": "Exists"}
    if key != "*":
        out["key"] = key
    if effect:
        out["effect"] = effect
    if at:
        out["tolerationSeconds"] = int(seconds)
    return out


def node(name: str, *, taints: str = "", labels: dict[str, str] | None = None, **status: str) -> Document:
    """A node; `Ready="True"` and the like give it conditions."""
    conditions = [
        {"type": kind, "status": value, "lastHeartbeatTime": "2026-01-01T00:00:00Z"} for kind, value in status.items()
    ]
    spec = {"taints": [taint(one) for one in taints.split()]} if taints else {}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": {"conditions": conditions}}


def pod(name: str, node_name: str = "", *, tolerations: str = "", namespace: str = "default", **more: Any) -> Document:
    """A pod of one container; `tolerations` separated by blanks."""
    spec: Document = {"containers": [{"name": "c", "image": "registry.example/app:1"}]}
    if node_name:
        spec["nodeName"] = node_name
    if tolerations:
        spec["tolerations"] = [toleration(one) for one in tolerations.split()]
    spec.update(more.pop("spec", {}))
    metadata = {"namespace": namespace, "name": name, **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": spec, **more}


def taints(text: str) -> Document:
    """A patch that gives a node these taints and no others."""
    return {"spec": {"taints": [taint(one) for one in text.split()] or None}}
