"""Annotations that cannot be obeyed, told to whoever wrote them: a Warning event, once for each mistake.

What a wrong annotation asks for is passed over, so without a word nobody would know why nothing happens.
"""

from collections.abc import Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.client.actions import RecordEvent
from doorman.nodes.devices.simulated_devices import device_annotation_errors
from doorman.nodes.kubelet_writes import node_event, pod_event
from doorman.nodes.node_annotations import PREFIX, node_annotation_errors, pod_annotation_errors

REASON: Final = "InvalidSimulation"


class AnnotationWarnings:
    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """By name of a node and by uid of a pod: neither can be the other."""

    def about_node(self, node: Node, errors: str = "") -> Sequence[RecordEvent]:
        """`errors` are those found by others."""
        name = node.metadata.name
        annotations = node.metadata.annotations
        found = (errors, *node_annotation_errors(annotations), *device_annotation_errors(annotations))
        text = "; ".join(filter(None, found))
        return (node_event(node, "Warning", REASON, f"Cannot simulate: {text}"),) if self._is_new(name, text) else ()

    def about_pod(self, pod: Pod) -> Sequence[RecordEvent]:
        annotations = pod.metadata.annotations
        if not annotations or not any(annotation.startswith(PREFIX) for annotation in annotations):
            return ()
        text = "; ".join(pod_annotation_errors(annotations))
        return (pod_event(pod, REASON, f"Cannot simulate: {text}"),) if self._is_new(pod.metadata.uid, text) else ()

    def forget(self, key: str) -> None:
        self._told.pop(key, None)

    def _is_new(self, key: str, text: str) -> bool:
        if not text:
            self._told.pop(key, None)
            return False
        is_new = self._told.get(key) != text
        self._told[key] = text
        return is_new
