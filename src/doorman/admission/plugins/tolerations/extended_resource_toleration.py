"""ExtendedResourceToleration: who asks for a special resource tolerates the taint of that name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE_AND_UPDATE, Attributes, ClusterReader, Interest
from doorman.base.clock import Instant
from doorman.semantics.pods.resource_names import is_extended_resource

INTERESTS: Final = (Interest(resource="pods", operations=CREATE_AND_UPDATE),)


def decide_extended_resources(spec: Mapping[str, Any]) -> list[str]:
    """The extended resources that containers and init containers request, by name."""
    names: set[str] = set()
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            requests = (container.get("resources") or {}).get("requests") or {}
            names.update(name for name in requests if is_extended_resource(name))
    return sorted(names)


def decide_tolerations(
    tolerations: Sequence[Mapping[str, Any]], resources: Sequence[str]
) -> list[Mapping[str, Any]]:  # tolerations as JSON
    """The list with a toleration for each resource; one that says the same is replaced where it stands."""
    out = list(tolerations)
    for resource in resources:
        wanted = {"key": resource, "operator": "Exists", "effect": "NoSchedule"}
        same = [index for index, found in enumerate(out) if _is_same(found, resource)]
        for index in same:
            out[index] = wanted
        if not same:
            out.append(wanted)
    return out


class ExtendedResourceToleration:
    name = "ExtendedResourceToleration"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, _cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a write has an object"
        spec = attributes.obj.get("spec") or {}
        if resources := decide_extended_resources(spec):
            spec["tolerations"] = decide_tolerations(spec.get("tolerations") or [], resources)


def _is_same(toleration: Mapping[str, Any], resource: str) -> bool:
    get = toleration.get
    return (get("key"), get("operator"), get("value", ""), get("effect")) == (resource, "Exists", "", "NoSchedule")
