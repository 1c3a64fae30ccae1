"""DefaultStorageClass and DefaultIngressClass: who names no class gets the one that is marked as the default.

Rules
-----
1. A claim or an ingress that names a class, be it by annotation, is left alone, and so is one that says it wants none
   (an empty name).
2. The default is a class with the annotation `…/is-default-class: "true"`. Of several the newest; of those the first by
   name. Without one nothing is added.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE, Attributes, ClusterReader, Interest
from doorman.api.well_known import INGRESS_CLASS_ANNOTATION, STORAGE_CLASS_ANNOTATION
from doorman.base.clock import Instant

STORAGE_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
INGRESS_MARKS: Final = ("ingressclass.kubernetes.io/is-default-class",)


def decide_default(classes: Iterable[Mapping[str, Any]], marks: Sequence[str]) -> str:
    """Rule 2: its name, or empty."""
    found = [one["metadata"] for one in classes if any(_notes(one).get(mark) == "true" for mark in marks)]
    found.sort(key=lambda metadata: str(metadata["name"]))
    found.sort(key=lambda metadata: str(metadata.get("creationTimestamp", "")), reverse=True)
    return str(found[0]["name"]) if found else ""


class _ClassDefault:
    name: str
    interests: Sequence[Interest]
    classes: str
    marks: Sequence[str]
    member: str
    annotation: str

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        spec = attributes.obj.setdefault("spec", {})
        if spec.get(self.member) is not None or self.annotation in _notes(attributes.obj):
            return
        chosen = decide_default(cluster.list(self.classes), self.marks)
        if chosen:
            spec[self.member] = chosen


class DefaultStorageClass(_ClassDefault):
    name = "DefaultStorageClass"
    interests = (Interest(resource="persistentvolumeclaims", operations=CREATE),)
    classes = "storageclasses.storage.k8s.io"
    marks = STORAGE_MARKS
    member = "storageClassName"
    annotation = STORAGE_CLASS_ANNOTATION


class DefaultIngressClass(_ClassDefault):
    name = "DefaultIngressClass"
    interests = (Interest(resource="ingresses.networking.k8s.io", operations=CREATE),)
    classes = "ingressclasses.networking.k8s.io"
    marks = INGRESS_MARKS
    member = "ingressClassName"
    annotation = INGRESS_CLASS_ANNOTATION


def _notes(doc: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = doc["metadata"].get("annotations") or {}
    return found
