"""PodTolerationRestriction: a namespace's default tolerations and its whitelist, and who may bear memory pressure.

Rules
-----
1. A new pod gets the tolerations of the namespace's annotation, or else of the cluster's configuration.
2. A pod that is not BestEffort, new or updated, also gets a toleration of memory pressure.
3. Where anything is added the whole list is merged: a toleration that another covers goes.
4. Then every toleration must be covered by the whitelist of the namespace, or else of the cluster, if there is one.
5. An annotation that is absent is no answer; an empty one is the answer "nothing".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import (
    CREATE_AND_UPDATE,
    Attributes,
    ClusterReader,
    Interest,
    Operation,
    plain_refusal,
)
from doorman.api.taints import MEMORY_PRESSURE, Toleration
from doorman.base.clock import Instant
from doorman.base.errors import GroupResource, not_found
from doorman.semantics.library import to_toleration
from doorman.semantics.pods.qos import QosClass, qos_class
from doorman.semantics.taints.annotation_lists import TOLERATION, AnnotationError, parse_annotated_list
from doorman.semantics.taints.toleration_lists import is_whitelisted, merge_tolerations, toleration_document

INTERESTS: Final = (Interest(resource="pods", operations=CREATE_AND_UPDATE),)

DEFAULTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"

_MEMORY_PRESSURE: Final = Toleration(key=MEMORY_PRESSURE, operator="Exists", effect="NoSchedule")
_CONFLICT: Final = "pod tolerations (possibly merged with namespace default tolerations) conflict with its"


def decide_annotated(annotations: Mapping[str, str], annotation: str) -> tuple[Toleration, ...] | None:
    """Rule 5: the list, or None when the namespace says nothing."""
    text = annotations.get(annotation)
    if text is None:
        return None
    if not text:
        return ()
    try:
        return tuple(to_toleration(one) for one in parse_annotated_list(text, TOLERATION))
    except AnnotationError as error:
        raise plain_refusal(str(error)) from error


class PodTolerationRestriction:
    name = "PodTolerationRestriction"
    interests: Sequence[Interest] = INTERESTS

    def __init__(self, *, defaults: Sequence[Toleration] = (), whitelist: Sequence[Toleration] = ()) -> None:
        self._defaults = tuple(defaults)
        self._whitelist = tuple(whitelist)

    def admit(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        assert attributes.obj is not None, "a write has an object"
        spec = attributes.obj.setdefault("spec", {})
        annotations = self._annotations(attributes, cluster)
        extra: list[Toleration] = []
        if attributes.operation is Operation.CREATE:
            annotated = decide_annotated(annotations, DEFAULTS_ANNOTATION)
            extra.extend(self._defaults if annotated is None else annotated)
        if self._class_of(attributes.obj) != QosClass.BEST_EFFORT:
            extra.append(_MEMORY_PRESSURE)
        if extra:
            own = [to_toleration(one) for one in spec.get("tolerations") or ()]
            spec["tolerations"] = [toleration_document(one) for one in merge_tolerations(own, extra)]
        self.validate(attributes, cluster, now)

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a write has an object"
        tolerations = (attributes.obj.get("spec") or {}).get("tolerations")
        if not tolerations:
            return
        annotated = decide_annotated(self._annotations(attributes, cluster), WHITELIST_ANNOTATION)
        whitelist = self._whitelist if annotated is None else annotated
        if whitelist and not is_whitelisted([to_toleration(one) for one in tolerations], whitelist):
            owner = "cluster" if annotated is None else "namespace"
            raise plain_refusal(f"{_CONFLICT} {owner} whitelist")

    def _annotations(self, attributes: Attributes, cluster: ClusterReader) -> Mapping[str, str]:
        namespace = cluster.get("namespaces", "", attributes.namespace)
        if namespace is None:
            raise not_found(GroupResource("", "namespaces"), attributes.namespace)
        return namespace["metadata"].get("annotations") or {}

    def _class_of(self, pod: Mapping[str, Any]) -> str:
        found: str = (pod.get("status") or {}).get("qosClass") or qos_class(pod.get("spec") or {})
        return found
