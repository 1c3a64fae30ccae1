"""The scale subresource: a workload's replicas under a name autoscalers and `kubectl scale` know."""

from typing import Any, Final

from doorman.api.kinds import Kind, ScalePaths
from doorman.api.machinery.label_selectors import format_selector
from doorman.api.views.meta import LabelSelector, to_view
from doorman.base.errors import internal, invalid, invalid_object
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.registry.object_identity import check_name, check_namespace
from doorman.registry.write_target import SubresourceObject

SCALE: Final = Kind(
    group="autoscaling",
    version="v1",
    resource="scales",
    singular="scale",
    kind="Scale",
    namespaced=True,
    type_name="autoscaling.v1.Scale",
    storage="scales",
)
_MEMBERS: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def to_scale(workload: Document, paths: ScalePaths | None = None) -> Document:
    """`paths` says where a custom kind keeps its replicas."""
    if paths is not None:
        return _custom_scale(workload, paths)
    metadata, spec, status = workload["metadata"], workload.get("spec", {}), workload.get("status", {})
    raw = spec.get("selector")
    if raw is None:
        selector = ""
    elif "matchLabels" in raw or "matchExpressions" in raw:
        selector = format_selector(to_view(raw, LabelSelector))
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


def scale_part(kind: Kind) -> SubresourceObject:
    return SubresourceObject(
        subresource="scale",
        type_name=SCALE.type_name,
        show=lambda workload: to_scale(workload, kind.scale),
        put=lambda workload, scale: with_scale(workload, scale, kind.scale),
    )


def applied_replicas(scale: Document, kind: Kind) -> Document:
    """An applied scale as a configuration of the workload: whoever applies it owns the replicas and nothing else."""
    metadata = {name: value for name, value in scale["metadata"].items() if name in ("name", "namespace", "uid")}
    config: Document = {"apiVersion": kind.group_version, "kind": kind.kind, "metadata": metadata}
    spec = scale.get("spec") or {}
    if "replicas" not in spec:
        return config
    paths = kind.scale.replicas if kind.scale is not None else ("spec", "replicas")
    applied: Document = _with_value(config, paths, spec["replicas"] or 0)
    return applied


def _custom_scale(workload: Document, paths: ScalePaths) -> Document:
    metadata = workload["metadata"]
    replicas = _at(workload, paths.replicas)
    if not isinstance(replicas, int):
        what = "the spec replicas field " + quote("." + ".".join(paths.replicas))
        raise internal(f"{what} does not exist")
    out: Document = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _MEMBERS if name in metadata},
        "spec": {"replicas": replicas},
        "status": {"replicas": _at(workload, paths.status_replicas) or 0},
    }
    selector = _at(workload, paths.selector) if paths.selector else None
    if selector:
        out["status"]["selector"] = selector
    return out


def _at(value: Any, steps: tuple[str, ...]) -> Any:  # any JSON value
    for step in steps:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _with_value(value: Any, steps: tuple[str, ...], wanted: Any) -> Any:  # any JSON value
    if not steps:
        return wanted
    found = value if isinstance(value, dict) else {}
    return {**found, steps[0]: _with_value(found.get(steps[0]), steps[1:], wanted)}


def check_scale(scale: Document, namespace: str, name: str) -> None:
    metadata = scale.get("metadata", {})
    check_name(metadata, name)
    check_namespace(metadata, namespace)
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0:
        error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid_object(SCALE.kind, SCALE.group, name, [error])


def with_scale(workload: Document, scale: Document, paths: ScalePaths | None = None) -> Document:
    """The workload with the replicas (and the lock) of a Scale."""
    metadata = dict(workload["metadata"])
    wanted = scale.get("metadata", {}).get("resourceVersion")
    if wanted:
        metadata["resourceVersion"] = wanted
    if uid := scale.get("metadata", {}).get("uid"):
        metadata["uid"] = uid
    replicas = scale.get("spec", {}).get("replicas", 0)
    if paths is not None:
        changed: Document = _with_value({**workload, "metadata": metadata}, paths.replicas, replicas)
        return changed
    return {**workload, "metadata": metadata, "spec": {**workload.get("spec", {}), "replicas": replicas}}
