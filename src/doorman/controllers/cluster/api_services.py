"""apiservice-registration: an APIService for every group version that is served here.

The API server does this in Kubernetes. It reads definitions of custom kinds and the APIServices there are.

1. Each group version of the built-in kinds, and each version that an established definition serves, has one; but for
   that of APIServices.
2. One of a group version that is no longer served goes, if it was made here. Others' are left alone.

Keys: names of APIServices, `v1.apps`; `v1.` is the core group.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from doorman.api.kinds import traits, version_order
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.views.apiextensions import CustomResourceDefinition
from doorman.api.views.meta import Object
from doorman.base.clock import Instant
from doorman.client.actions import Create, Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "apiservice-registration"
RESOURCE: Final = "apiservices.apiregistration.k8s.io"
OWN_GROUP: Final = "apiregistration.k8s.io"
MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
WORKERS: Final = 8

_CUSTOM_PRIORITY: Final = (1000, 100)
_CORE_PRIORITY: Final = (18000, 1)
_GROUP_STEP: Final = 100
_STAGES: Final = (15, 12, 9)
"""Of stable versions, betas and alphas."""


def service_name(group: str, version: str) -> str:
    return f"{version}.{group}"


def definition_keys(change: ObjectChange) -> Iterable[str]:
    found: dict[str, None] = {}
    for definition in (change.old, change.new):
        if definition is not None:
            found |= {service_name(definition.spec.group, version.name): None for version in definition.spec.versions}
    return found


def decide_priorities(group: str, version: str, *, is_builtin: bool) -> tuple[int, int]:
    """Of the group among groups and of the version in its group: which one a short name means.

    >>> decide_priorities("", "v1", is_builtin=True), decide_priorities("example.com", "v1", is_builtin=False)
    ((18000, 1), (1000, 100))
    """
    if not is_builtin:
        return _CUSTOM_PRIORITY
    if not group:
        return _CORE_PRIORITY
    order: list[str] = traits()["groupOrder"]
    rank = order.index(group) if group in order else len(order)
    stage, number, _ = version_order(version)
    return _CORE_PRIORITY[0] - rank * _GROUP_STEP, _STAGES[min(stage, 2)] * max(-number, 1)


def decide_service(group: str, version: str, *, is_builtin: bool) -> dict[str, Any]:  # a manifest
    group_priority, version_priority = decide_priorities(group, version, is_builtin=is_builtin)
    spec: dict[str, Any] = {
        "version": version,
        "groupPriorityMinimum": group_priority,
        "versionPriority": version_priority,
    }
    if group:
        spec["group"] = group
    labels = {MANAGED: "onstart" if is_builtin else "true"}
    return {"metadata": {"name": service_name(group, version), "labels": labels}, "spec": spec}


class ApiServiceController:
    name = NAME
    sources = (Source(DEFINITIONS, definition_keys), Source(RESOURCE, lambda change: (change.newest.metadata.name,)))
    workers = WORKERS

    def __init__(
        self,
        builtin: Mapping[str, Iterable[str]],
        definitions: ListerOf[CustomResourceDefinition],
        services: ListerOf[Object],
    ) -> None:
        """`builtin`: versions by group."""
        self._builtin = {
            service_name(group, version): (group, version)
            for group, versions in builtin.items()
            for version in versions
            if group != OWN_GROUP
        }
        self._definitions = definitions
        self._services = services

    def start(self, now: Instant) -> Result:
        return Result(wakes=[(key, now) for key in self._builtin])

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        existing = self._services.get(key)
        wanted = self._wanted(key)
        if wanted is not None:
            return DONE if existing is not None else Result(actions=(Create(resource=RESOURCE, body=wanted),))
        if existing is None or MANAGED not in existing.metadata.labels:
            return DONE
        return Result(actions=(Delete(resource=RESOURCE, name=key, uid=existing.metadata.uid),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is looked at again when it or a definition changes."""
        return

    def _wanted(self, key: str) -> dict[str, Any] | None:  # a manifest
        if key in self._builtin:
            return decide_service(*self._builtin[key], is_builtin=True)
        version, _, group = key.partition(".")
        for definition in self._definitions.list():
            served = {one.name for one in definition.spec.versions if one.served}
            if definition.spec.group == group and version in served and definition.is_established:
                return decide_service(group, version, is_builtin=False)
        return None
