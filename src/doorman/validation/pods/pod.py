"""A pod, and the pod inside a workload: the checks of a create, in the API's order."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.well_known import MIRROR_POD_ANNOTATION, POD_DELETION_COST_ANNOTATION
from doorman.base.errors import FieldError, JsonText, duplicate, forbidden, invalid, not_supported, required, too_long
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults, qualified_name_faults, subdomain_faults
from doorman.validation.context import Context
from doorman.validation.metadata import annotation_errors, label_errors, validate_metadata
from doorman.validation.pods.container.containers import (
    container_errors,
    ephemeral_container_errors,
    image_errors,
    init_container_errors,
)
from doorman.validation.pods.container.environment import file_key_volume_errors
from doorman.validation.pods.container.security_context import (
    host_user_errors,
    linux_errors,
    pod_security_errors,
    windows_errors,
)
from doorman.validation.pods.container.windows_options import host_process_errors
from doorman.validation.pods.pod_network import dns_config_errors, host_alias_errors
from doorman.validation.pods.tolerations import (
    toleration_annotation_errors,
    toleration_errors,
    uses_comparison_operators,
)
from doorman.validation.pods.volume.volumes import Volumes, volume_errors
from doorman.validation.resources import pod_requirement_errors, requirement_errors
from doorman.validation.selectors import affinity_errors, topology_spread_errors

INT32_MAX: Final = 2**31 - 1

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_DELETION_COST: Final = re.compile(r"0|-?[1-9][0-9]{0,10}")
_SYSTEMS: Final = ("linux", "windows")
_GATED_NODE_NAME: Final = "cannot be set until all schedulingGates have been cleared"
_HOST_NETWORK_PORT: Final = "must match `containerPort` when `hostNetwork` is true"
_HOST_NAME_BYTES_MAX: Final = 64
_NOTHING: Final[frozenset[str]] = frozenset()
_NO_VOLUMES: Final[Volumes] = {}
_CLAIM_SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")


def validate_pod_create(doc: Document, context: Context) -> list[FieldError]:
    errors = pod_errors(doc, comparison_operators=context.comparison_operators)
    spec: Mapping[str, Any] = doc.get("spec") or {}
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", _GATED_NODE_NAME))
    return errors


def pod_errors(doc: Document, *, comparison_operators: bool) -> list[FieldError]:
    """What holds for a pod at any time."""
    errors = validate_metadata(doc)
    spec: Mapping[str, Any] = doc.get("spec") or {}
    if annotations := doc["metadata"].get("annotations"):
        at = "metadata.annotations"
        errors.extend(_annotation_errors(annotations, spec, at, comparison_operators=comparison_operators))
    name = doc["metadata"].get("name") or ""
    errors.extend(pod_spec_errors(spec, "spec", comparison_operators=comparison_operators, pod=name))
    if not spec.get("serviceAccountName") and (volumes := spec.get("volumes")):
        errors.extend(_token_errors(volumes))
    errors.extend(image_errors(spec.get("containers") or (), "spec.containers"))
    errors.extend(image_errors(spec.get("initContainers") or (), "spec.initContainers"))
    return errors


def _token_errors(volumes: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """Of a pod that runs as nobody: whose tokens would they be? Admission names somebody before a pod is created."""
    return [
        forbidden(
            f"spec.volumes[{at}].projected.sources[{index}].serviceAccountToken",
            "must not be specified when serviceAccountName is not set",
        )
        for at, volume in enumerate(volumes)
        for index, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def template_errors(template: Mapping[str, Any], path: str, *, comparison_operators: bool) -> list[FieldError]:
    """The pod inside a workload: it has no name of its own."""
    metadata: Mapping[str, Any] = template.get("metadata") or {}
    spec: Mapping[str, Any] = template.get("spec") or {}
    errors = label_errors(metadata.get("labels") or {}, f"{path}.labels")
    if annotations := metadata.get("annotations"):
        at = f"{path}.annotations"
        errors.extend(annotation_errors(annotations, at))
        errors.extend(_annotation_errors(annotations, spec, at, comparison_operators=comparison_operators))
    errors.extend(pod_spec_errors(spec, f"{path}.spec", comparison_operators=comparison_operators))
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", text))
    return errors


def allows_comparison_operators(old_spec: Mapping[str, Any] | None, context: Context) -> bool:
    """With the gate off, a pod that was stored with such tolerations goes on as it is."""
    if context.comparison_operators:
        return True
    return uses_comparison_operators((old_spec or {}).get("tolerations"))


def pod_spec_errors(
    spec: Mapping[str, Any], path: str, *, comparison_operators: bool, pod: str = ""
) -> list[FieldError]:
    """`pod` is the pod's name, where it has one."""
    errors: list[FieldError] = []
    get = spec.get
    volumes: Volumes = _NO_VOLUMES
    claims = _NOTHING
    if found := get("volumes"):
        volumes = volume_errors(found, pod, f"{path}.volumes", errors)
    if found := get("resourceClaims"):
        claims = _claim_names(found, f"{path}.resourceClaims", errors)
    containers = get("containers") or ()
    at = f"{path}.containers"
    errors.extend(container_errors(containers, volumes, claims, at, spec=spec))
    if init := get("initContainers"):
        at = f"{path}.initContainers"
        errors.extend(init_container_errors(init, containers, volumes, claims, at, spec=spec))
    if ephemeral := get("ephemeralContainers"):
        at, others = f"{path}.ephemeralContainers", (*containers, *(init or ()))
        errors.extend(ephemeral_container_errors(ephemeral, others, volumes, claims, at, spec=spec))
    if resources := get("resources"):
        errors.extend(pod_requirement_errors(spec, resources, claims, f"{path}.resources"))
    if get("hostNetwork"):
        errors.extend(_host_network_errors(containers, f"{path}.containers"))
    errors.extend(_policy_errors(get("restartPolicy", ""), _RESTART_POLICIES, f"{path}.restartPolicy"))
    errors.extend(_policy_errors(get("dnsPolicy", ""), _DNS_POLICIES, f"{path}.dnsPolicy"))
    if node_selector := get("nodeSelector"):
        errors.extend(label_errors(node_selector, f"{path}.nodeSelector"))
    errors.extend(pod_security_errors(spec, path))
    if affinity := get("affinity"):
        errors.extend(affinity_errors(affinity, f"{path}.affinity"))
    errors.extend(dns_config_errors(get("dnsConfig"), get("dnsPolicy", ""), f"{path}.dnsConfig"))
    errors.extend(_readiness_gate_errors(get("readinessGates") or (), f"{path}.readinessGates"))
    errors.extend(_scheduling_gate_errors(get("schedulingGates") or (), f"{path}.schedulingGates"))
    if constraints := get("topologySpreadConstraints"):
        errors.extend(topology_spread_errors(constraints, f"{path}.topologySpreadConstraints"))
    errors.extend(host_process_errors(spec, path))
    errors.extend(host_user_errors(spec, path))
    if (override := get("hostnameOverride")) is not None:
        errors.extend(_host_name_errors(spec, override, f"{path}.hostnameOverride"))
    errors.extend(_name_field_errors(spec, path))
    if tolerations := get("tolerations"):
        at = f"{path}.tolerations"
        errors.extend(toleration_errors(tolerations, at, comparison_operators=comparison_operators))
    if aliases := get("hostAliases"):
        errors.extend(host_alias_errors(aliases, f"{path}.hostAliases"))
    errors.extend(_class_errors(spec, path))
    errors.extend(file_key_volume_errors(spec, path))
    return errors


def _annotation_errors(
    annotations: Mapping[str, str], spec: Mapping[str, Any], path: str, *, comparison_operators: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    if MIRROR_POD_ANNOTATION in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR_POD_ANNOTATION}]", annotations[MIRROR_POD_ANNOTATION], text))
    errors.extend(toleration_annotation_errors(annotations, path, comparison_operators=comparison_operators))
    cost = annotations.get(POD_DELETION_COST_ANNOTATION)
    if cost is not None and not _is_deletion_cost(cost):
        errors.append(invalid(f"{path}[{POD_DELETION_COST_ANNOTATION}]", cost, "must be a 32bit integer"))
    return errors


def _is_deletion_cost(text: str) -> bool:
    """
    >>> [_is_deletion_cost(text) for text in ("0", "-12", "2147483647", "2147483648", "+1", "007", "x", "")]
    [True, True, True, False, False, False, False, False]
    """
    return bool(_DELETION_COST.fullmatch(text)) and -INT32_MAX - 1 <= int(text) <= INT32_MAX


def _name_errors(name: str, taken: set[str], path: str) -> list[FieldError]:
    """What is wrong with a name that must be there, a label, and unlike those before it. From now on it is taken."""
    if not name:
        errors = [required(path)]
    elif name in taken:
        errors = [duplicate(path, name)]
    else:
        errors = [invalid(path, name, fault) for fault in dns_label_faults(name)]
    taken.add(name)
    return errors


def _claim_names(claims: Sequence[Mapping[str, Any]], path: str, errors: list[FieldError]) -> frozenset[str]:
    names: set[str] = set()
    for index, claim in enumerate(claims):
        errors.extend(_name_errors(claim.get("name", ""), names, f"{path}[{index}].name"))
        sources = [field for field in _CLAIM_SOURCES if claim.get(field) is not None]
        if len(sources) > 1:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(f"{path}[{index}]", claim, text))
        elif not sources:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(f"{path}[{index}]", claim, text))
        for field in sources:
            errors.extend(
                invalid(f"{path}[{index}].{field}", claim[field], fault) for fault in subdomain_faults(claim[field])
            )
    return frozenset(names - {""})


def _host_network_errors(containers: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """A template may leave it open: a pod made from it gets the port."""
    return [
        invalid(f"{path}[{index}].ports[{at}].hostPort", port.get("hostPort", 0), _HOST_NETWORK_PORT)
        for index, container in enumerate(containers)
        for at, port in enumerate(container.get("ports") or ())
        if port.get("hostPort", 0) not in (0, port.get("containerPort", 0))
    ]


def _policy_errors(policy: str, supported: Sequence[str], path: str) -> list[FieldError]:
    if policy in supported:
        return []
    return [not_supported(path, JsonText(policy), supported) if policy else required(path)]


def _readiness_gate_errors(gates: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, gate in enumerate(gates):
        kind = gate.get("conditionType", "")
        errors.extend(invalid(f"{path}[{index}].conditionType", kind, fault) for fault in qualified_name_faults(kind))
    return errors


def _scheduling_gate_errors(gates: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors.extend(invalid(f"{path}[{index}]", name, fault) for fault in qualified_name_faults(name))
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors


def _name_field_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("serviceAccountName", "nodeName"):
        if name := spec.get(field):
            errors.extend(invalid(f"{path}.{field}", name, fault) for fault in subdomain_faults(name))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= INT32_MAX:
        text = f"must be between 1 and {INT32_MAX}, inclusive"
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, text))
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            errors.extend(invalid(f"{path}.{field}", name, fault) for fault in dns_label_faults(name))
    return errors


def _host_name_errors(spec: Mapping[str, Any], name: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(path, "may not be specified when hostNetwork is true"))
    if len(name.encode()) > _HOST_NAME_BYTES_MAX:
        errors.append(too_long(path, _HOST_NAME_BYTES_MAX))
    return [*errors, *(invalid(path, name, fault) for fault in subdomain_faults(name))]


def _class_errors(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("priorityClassName", "runtimeClassName"):
        if (name := spec.get(field)) is not None:
            errors.extend(invalid(f"{path}.{field}", name, fault) for fault in subdomain_faults(name))
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy not in _PREEMPTION_POLICIES:
        at = f"{path}.preemptionPolicy"
        errors.append(not_supported(at, JsonText(policy), _PREEMPTION_POLICIES) if policy else required(at))
    if overhead := spec.get("overhead"):
        errors.extend(requirement_errors({"limits": overhead}, _NOTHING, f"{path}.overhead"))
    if (system := spec.get("os")) is not None:
        found = system.get("name", "")
        if not found:
            errors.append(required(f"{path}.os.name"))
        elif found not in _SYSTEMS:
            errors.append(not_supported(f"{path}.os", JsonText(found), _SYSTEMS))
        else:
            errors.extend(linux_errors(spec, path) if found == "linux" else windows_errors(spec, path))
    return errors
