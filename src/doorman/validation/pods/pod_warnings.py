"""What whoever writes a pod, or a template of one, is warned of: it is accepted, but hardly what was meant."""

from collections.abc import Iterator, Sequence
from typing import Final

from doorman.api.machinery.quantity import milli_value
from doorman.api.well_known import PREFERRED_TERMS, REQUIRED_TERMS
from doorman.base.go_format import quote
from doorman.semantics.addresses import ip_warnings
from doorman.semantics.name_syntax import dns_label_faults, label_value_faults
from doorman.validation.faults import Part
from doorman.validation.pods.volume.volume_path_warnings import volume_path_warnings

_VOLUMES: Final = (
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
"""Sources of volumes that are on their way out: member, how the warning spells it, what it says."""

_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"


def pod_warnings(pod: Part, path: str = "") -> list[str]:
    """`path` is where the pod is; empty when it stands for itself."""
    prefix = f"{path}." if path else ""
    spec: Part = pod.get("spec") or {}
    annotations: Part = (pod.get("metadata") or {}).get("annotations") or {}
    at = f"{prefix}spec"
    found = [] if path else _name_warnings((pod.get("metadata") or {}).get("name") or "")
    found += _selection_warnings(spec, at)
    notes = f"{prefix}metadata.annotations"
    found += [f"{notes}[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in annotations]
    found += [*_volume_warnings(spec, at), *_list_warnings(spec, at)]
    found += _fraction_warnings(spec.get("overhead") or {}, f"{at}.overhead")
    if _SECCOMP_POD in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        found.append(f"{notes}[{_SECCOMP_POD}]: {_SECCOMP}")
    for container, place in _containers(spec, at):
        found += _container_warnings(container, place, annotations, notes)
    found += _port_warnings(spec, at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{at}.terminationGracePeriodSeconds: {text}")
    found += _affinity_warnings(spec.get("affinity") or {}, f"{at}.affinity")
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        found += ip_warnings(server, f"{at}.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        found += ip_warnings(alias.get("ip") or "", f"{at}.hostAliases[{index}].ip")
    return found


def _name_warnings(name: str) -> list[str]:
    """A pod's name is its host's, too."""
    faults = dns_label_faults(name)
    if not faults:
        return []
    text = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: {text}: [{' '.join(faults)}]"]


def label_warning(key: str) -> str:
    """
    >>> label_warning("beta.kubernetes.io/os"), label_warning("a")
    ('deprecated since v1.14; use "kubernetes.io/os" instead', '')
    """
    known = _LABELS.get(key)
    return f"deprecated since {known[0]}; use {quote(known[1])} instead" if known else ""


def term_warnings(term: Part, path: str, *, with_values: bool) -> list[str]:
    """Of a node selector's term; `with_values`: values that no label has are told of."""
    found = []
    for index, wanted in enumerate(term.get("matchExpressions") or ()):
        at, key = f"{path}.matchExpressions[{index}]", wanted.get("key") or ""
        if text := label_warning(key):
            found.append(f"{at}.key: {key} is {text}")
        for number, value in enumerate(wanted.get("values") or () if with_values else ()):
            found += [f"{at}.values[{number}]: {value} is invalid, {fault}" for fault in label_value_faults(value)]
    return found


def _selection_warnings(spec: Part, at: str) -> list[str]:
    found = [
        f"{at}.nodeSelector[{key}]: {text}" for key in spec.get("nodeSelector") or () if (text := label_warning(key))
    ]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    path = f"{at}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or ()):
        found += term_warnings(term, f"{path}.{REQUIRED_TERMS}.nodeSelectorTerms[{index}]", with_values=False)
    for index, term in enumerate(affinity.get(PREFERRED_TERMS) or ()):
        found += term_warnings(
            term.get("preference") or {}, f"{path}.{PREFERRED_TERMS}[{index}].preference", with_values=True
        )
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place, key = f"{at}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if text := label_warning(key):
            found.append(f"{place}.topologyKey: {key} is {text}")
        if constraint.get("labelSelector") is None:
            found.append(f"{place}.labelSelector: {_NO_SELECTOR}")
    return found


def _volume_warnings(spec: Part, at: str) -> list[str]:
    found = []
    for index, volume in enumerate(spec.get("volumes") or ()):
        place = f"{at}.volumes[{index}]"
        for member, spelled, text in _VOLUMES[:7]:
            if volume.get(member) is not None:
                found.append(f"{place}.{spelled}: {text}")
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is not None:
            found += claim_warnings(template.get("spec") or {}, f"{place}.ephemeral.volumeClaimTemplate.spec")
        for member, spelled, text in _VOLUMES[7:]:
            if volume.get(member) is not None:
                found.append(f"{place}.{spelled}: {text}")
    return found + volume_path_warnings(spec.get("volumes") or ())


def claim_warnings(spec: Part, path: str) -> list[str]:
    """A claim for a part of a byte."""
    resources = spec.get("resources") or {}
    return [
        f"{path}.resources.{name}[storage]: fractional byte value {quote(amount)} is invalid, must be an integer"
        for name in ("requests", "limits")
        if (amount := (resources.get(name) or {}).get("storage")) is not None and milli_value(amount) % 1000
    ]


def _list_warnings(spec: Part, at: str) -> list[str]:
    found = []
    for member, key, what in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(member) or ()):
            value = item.get(key) or ""
            if value in seen:
                found.append(f"{at}.{member}[{index}].{key}: duplicate {what} {quote(value)}")
            seen.add(value)
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            found.append(f'{at}.imagePullSecrets[{index}].name: invalid empty name ""')
    return found


def _fraction_warnings(amounts: Part, path: str) -> list[str]:
    return [
        f"{path}[{name}]: fractional byte value {quote(amount)} is invalid, must be an integer"
        for name in ("memory", "ephemeral-storage")
        if (amount := amounts.get(name)) is not None and milli_value(amount) % 1000
    ]


def _containers(spec: Part, at: str) -> Iterator[tuple[Part, str]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield container, f"{at}.{group}[{index}]"


def _container_warnings(container: Part, at: str, annotations: Part, notes: str) -> list[str]:
    found = []
    key = _SECCOMP_CONTAINER + (container.get("name") or "")
    if key in annotations and not (container.get("securityContext") or {}).get("seccompProfile"):
        found.append(f"{notes}[{key}]: {_SECCOMP}")
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for member in ("limits", "requests"):
            amount = (resources.get(member) or {}).get(name)
            if amount is not None and milli_value(amount) % 1000:
                text = f"fractional byte value {quote(amount)} is invalid, must be an integer"
                found.append(f"{at}.resources.{member}[{name}]: {text}")
    env = container.get("env") or ()
    return [*found, *_env_warnings(env, at)] if len(env) > 1 else found


def _env_warnings(env: Sequence[Part], at: str) -> list[str]:
    found = []
    seen: set[str] = set()
    for index, variable in enumerate(env):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        hides = variable.get("valueFrom") is not None or value == reference or reference not in value
        if name in seen and hides:
            text = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
            found.append(f"{at}.env[{index}]: {text}")
        seen.add(name)
    return found


def _port_warnings(spec: Part, at: str) -> list[str]:
    found = []
    taken: dict[tuple[int, str], list[tuple[str, Part]]] = {}
    names: dict[str, str] = {}
    later = []
    for container, place in _containers(spec, at):
        for index, port in enumerate(container.get("ports") or ()):
            path = f"{place}.ports[{index}]"
            others = taken.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
            if port.get("hostIP") and not port.get("hostPort"):
                found.append(f"{path}: hostIP set without hostPort: {_go_port(port)}")
            found += [text for other in others if (text := _clash(port, path, *other))]
            others.append((path, port))
            if name := port.get("name"):
                if name in names:
                    will = f"services and probes that select ports by name will use {names[name]}"
                    later.append(f"{path}: duplicate port name {quote(name)} with {names[name]}, {will}")
                else:
                    names[name] = path
    return [*found, *later]


def _clash(port: Part, path: str, other_path: str, other: Part) -> str:
    address, number = port.get("hostIP") or "", port.get("hostPort") or 0
    other_address, other_number = other.get("hostIP") or "", other.get("hostPort") or 0
    if (address, number) == (other_address, other_number):
        return f"{path}: duplicate port definition with {other_path}"
    if not number or not other_number:
        return f"{path}: overlapping port definition with {other_path}"
    if number == other_number and bool(address) != bool(other_address):
        return f"{path}: dangerously ambiguous port definition with {other_path}"
    return ""


def _go_port(port: Part) -> str:
    return (
        f"{{Name:{port.get('name') or ''} HostPort:{port.get('hostPort') or 0}"
        f" ContainerPort:{port.get('containerPort') or 0} Protocol:{port.get('protocol') or ''}"
        f" HostIP:{port.get('hostIP') or ''}}}"
    )


def _affinity_warnings(affinity: Part, at: str) -> list[str]:
    found = []
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name) or {}
        for index, term in enumerate(terms.get(REQUIRED_TERMS) or ()):
            if term.get("labelSelector") is None:
                found.append(f"{at}.{name}.{REQUIRED_TERMS}[{index}].labelSelector: {_NO_SELECTOR}")
        for index, term in enumerate(terms.get(PREFERRED_TERMS) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                found.append(f"{at}.{name}.{PREFERRED_TERMS}[{index}].podAffinityTerm.labelSelector: {_NO_SELECTOR}")
    return found
