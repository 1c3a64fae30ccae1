"""What is left out of a snapshot: what containers are told, and annotations that no rule reads.

Templates and the revisions made of them are treated alike, so that no workload believes that its template has changed.
"""

from collections.abc import Mapping
from typing import Any, Final

from doorman.base.json_types import Document

CONTAINER_MEMBERS: Final = frozenset(
    ("env", "envFrom", "args", "command", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
)
CONTAINER_LISTS: Final = frozenset(("containers", "initContainers", "ephemeralContainers"))
METADATA_MEMBERS: Final = frozenset(("managedFields", "selfLink"))
READ_ANNOTATIONS: Final = (
    "doorman.dev/",
    "scheduler.alpha.kubernetes.io/",
    "kubernetes.io/config.",
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "batch.kubernetes.io/",
    "controller.kubernetes.io/",
    "resource.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "storageclass.kubernetes.io/",
    "node.kubernetes.io/",
)
"""How the names of annotations begin that some rule reads."""


def redacted(doc: Document) -> Document:
    """The object without them; what is given is left as it is.

    >>> redacted({"spec": {"containers": [{"name": "c", "env": [1], "image": "i"}]}})
    {'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}
    """
    walked: Document = {name: _walked(name, value) for name, value in doc.items()}
    return walked


def _walked(name: str, value: Any) -> Any:  # any JSON value
    match value:
        case list() if name in CONTAINER_LISTS:
            return [_container(one) if isinstance(one, dict) else one for one in value]
        case list():
            return [_walked("", one) for one in value]
        case dict() if name == "metadata":
            return _metadata(value)
        case dict():
            return {member: _walked(member, one) for member, one in value.items()}
        case _:
            return value


def _container(container: Mapping[str, Any]) -> Document:
    return {name: value for name, value in container.items() if name not in CONTAINER_MEMBERS}


def _metadata(metadata: Mapping[str, Any]) -> Document:
    kept = {name: value for name, value in metadata.items() if name not in METADATA_MEMBERS}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict):
        read = {name: value for name, value in annotations.items() if name.startswith(READ_ANNOTATIONS)}
        kept["annotations"] = read
        if not read:
            del kept["annotations"]
    return kept
