"""The workloads that autoscalers scale: how many replicas they have and are to have, and which pods are theirs."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import Selector, selector_or_nothing
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import ScaleTargetReference
from doorman.api.views.meta import LabelSelector
from doorman.client.informer_cache import ListerOf

TARGETS: Final = {
    ("apps", "Deployment"): "deployments.apps",
    ("apps", "ReplicaSet"): "replicasets.apps",
    ("apps", "StatefulSet"): "statefulsets.apps",
    ("", "ReplicationController"): "replicationcontrollers",
}
"""Resources by group and kind."""


class ScaleTarget(msgspec.Struct, frozen=True, kw_only=True):
    resource: str
    replicas: int
    selector: Selector | None
    """None: it has none."""


CustomScales = Callable[[ScaleTargetReference, str], ScaleTarget | str | None]
"""The scale of an object of a custom kind in a namespace, or why it cannot be told; None: there is no such kind."""


class ScaleTargets:
    def __init__(
        self,
        workloads: Mapping[str, ListerOf[Any]],
        custom: CustomScales = lambda _reference, _namespace: None,
    ) -> None:
        """`workloads`: listers by resource."""
        self._workloads = workloads
        self._custom = custom

    def find(self, reference: ScaleTargetReference, namespace: str) -> ScaleTarget | str:
        """Or why it cannot be told."""
        group, slash, _ = reference.api_version.partition("/")
        group = group if slash else ""
        resource = TARGETS.get((group, reference.kind))
        if resource is None:
            missing = f'no matches for kind "{reference.kind}" in group "{group}"'
            return self._custom(reference, namespace) or missing
        workload = self._workloads[resource].get(f"{namespace}/{reference.name}")
        if workload is None:
            return f'{resource} "{reference.name}" not found'
        return ScaleTarget(
            resource=resource, replicas=workload.spec.replicas, selector=_selector_of(workload.spec.selector)
        )


def _selector_of(found: LabelSelector | Mapping[str, str] | None) -> Selector | None:
    """A ReplicationController's is a map of labels."""
    if isinstance(found, LabelSelector):
        return selector_or_nothing(found) if found.match_labels or found.match_expressions else None
    return selector_or_nothing(LabelSelector(match_labels=dict(found))) if found else None
