"""Where pods are described in an object: the template of a workload, or a pod itself."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.taints import Taint, Toleration
from doorman.api.views.pods import PodSpec
from doorman.lint.lint_documents import LintDocument, mapping, sequence
from doorman.lint.yaml_positions import YamlPath

_PLACES: Final[Mapping[str, YamlPath]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Where the template is; other kinds have it in `spec.template`, as the built-in workloads and most custom ones."""
_DEVICE_KINDS: Final = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceTaintRule")
REPLICATED: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
DAEMON_SET: Final = "DaemonSet"


class LintedToleration(msgspec.Struct, frozen=True):
    """One toleration of a template: where it is, what was written, and what it means."""

    index: int
    path: YamlPath
    written: Mapping[str, Any]
    meant: Toleration


class LintedTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Pods as an object describes them."""

    document: LintDocument
    path: YamlPath
    """Of the pod's spec."""
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, Any]
    tolerations: tuple[LintedToleration, ...]
    placement: PodSpec
    """nodeSelector and affinity, as far as they can be read."""

    @property
    def kind(self) -> str:
        return self.document.kind

    @property
    def is_daemon(self) -> bool:
        return self.kind == DAEMON_SET

    @property
    def meant(self) -> list[Toleration]:
        return [one.meant for one in self.tolerations]

    @property
    def chooses_nodes(self) -> bool:
        """Whether it says anything at all about which nodes it wants."""
        affinity = mapping(mapping(self.spec.get("affinity")).get("nodeAffinity"))
        has_required = bool(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
        return bool(self.spec.get("nodeSelector")) or has_required or bool(self.spec.get("nodeName"))


def template_or_none(document: LintDocument) -> LintedTemplate | None:
    """None: the object describes no pods, or somebody else's object describes them."""
    if document.kind in _DEVICE_KINDS or _is_owned(document):
        return None
    at = _PLACES.get(document.kind, ("spec", "template"))
    part: Any = document.value
    for step in at:
        part = mapping(part).get(str(step))
    spec = mapping(part).get("spec")
    if not isinstance(spec, Mapping) or not ("containers" in spec or "tolerations" in spec):
        return None
    metadata = mapping(mapping(part).get("metadata"))
    path = (*at, "spec")
    written = sequence(spec.get("tolerations"))
    return LintedTemplate(
        document=document,
        path=path,
        spec=spec,
        labels={str(key): str(value) for key, value in mapping(metadata.get("labels")).items()},
        annotations=mapping(metadata.get("annotations")),
        tolerations=tuple(
            LintedToleration(index, (*path, "tolerations", index), one, toleration_of(one))
            for index, one in enumerate(written)
            if isinstance(one, Mapping)
        ),
        placement=_placement(spec),
    )


def toleration_of(written: Mapping[str, Any]) -> Toleration:
    """What was written, whatever its types: the API would refuse others than texts, and a rule says so."""
    seconds = written.get("tolerationSeconds")
    return Toleration(
        key=_text(written.get("key")),
        operator=_text(written.get("operator")),
        value=_text(written.get("value")),
        effect=_text(written.get("effect")),
        toleration_seconds=seconds if isinstance(seconds, int) and not isinstance(seconds, bool) else None,
    )


def taint_of(written: Mapping[str, Any]) -> Taint:
    return Taint(key=_text(written.get("key")), value=_text(written.get("value")), effect=_text(written.get("effect")))


def shown(toleration: Toleration) -> str:
    """As people write it in one line.

    >>> shown(Toleration(key="gpu", operator="Exists", effect="NoExecute", toleration_seconds=60))
    'gpu:NoExecute for 60s'
    >>> shown(Toleration(operator="Exists")), shown(Toleration(key="sla", operator="Gt", value="9"))
    ('every taint', 'sla>9')
    """
    sign = {"Gt": ">", "Lt": "<"}.get(toleration.operator, "=")
    value = "" if toleration.operator == "Exists" else f"{sign}{toleration.value}"
    what = f"{toleration.key}{value}" or "every taint"
    effect = f":{toleration.effect}" if toleration.effect else ""
    seconds = f" for {toleration.toleration_seconds}s" if toleration.toleration_seconds is not None else ""
    return f"{what}{effect}{seconds}"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _is_owned(document: LintDocument) -> bool:
    owners = sequence(document.metadata.get("ownerReferences"))
    return any(mapping(owner).get("controller") is True for owner in owners)


def _placement(spec: Mapping[str, Any]) -> PodSpec:
    chosen = {name: spec[name] for name in ("nodeSelector", "affinity", "nodeName") if spec.get(name)}
    try:
        return msgspec.convert(chosen, PodSpec)
    except (msgspec.ValidationError, TypeError, RecursionError):
        return PodSpec()
