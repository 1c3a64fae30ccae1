"""StorageObjectInUseProtection: volumes, claims and classes of attributes get a finalizer that keeps them while in use.

The controllers in `controllers/volumes` take it off again.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.admission.plugin_contract import CREATE, Attributes, ClusterReader, Interest
from doorman.base.clock import Instant

FINALIZERS: Final[Mapping[str, str]] = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}

INTERESTS: Final = tuple(Interest(resource=resource, operations=CREATE) for resource in FINALIZERS)


def decide_finalizers(finalizers: Sequence[str], wanted: str) -> list[str]:
    """
    >>> decide_finalizers(["a"], "b"), decide_finalizers(["b", "a"], "b")
    (['a', 'b'], ['b', 'a'])
    """
    return [*finalizers] if wanted in finalizers else [*finalizers, wanted]


class StorageObjectInUseProtection:
    name = "StorageObjectInUseProtection"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, _cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        metadata = attributes.obj["metadata"]
        wanted = FINALIZERS[attributes.group_resource]
        metadata["finalizers"] = decide_finalizers(metadata.get("finalizers") or (), wanted)
