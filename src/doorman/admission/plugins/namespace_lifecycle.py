"""NamespaceLifecycle: nothing new in a namespace that is missing or going, and three namespaces never go."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import ANY, CREATE, Attributes, ClusterReader, Interest, Operation, refusal
from doorman.base.clock import Instant
from doorman.base.errors import Cause, GroupResource, not_found

INTERESTS: Final = (
    Interest(resource=ANY, subresource=ANY, operations=CREATE),
    Interest(resource="namespaces", operations=frozenset({Operation.DELETE})),
)

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES: Final = GroupResource("", "namespaces")
_ALWAYS_ANSWERED: Final = frozenset({"localsubjectaccessreviews"})


def decide_termination(namespace: Mapping[str, Any]) -> bool:
    """Whether the namespace takes nothing new."""
    return bool((namespace.get("status") or {}).get("phase") == "Terminating")


class NamespaceLifecycle:
    name = "NamespaceLifecycle"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        if attributes.operation is Operation.DELETE:
            if attributes.name in IMMORTAL:
                raise refusal(attributes, "this namespace may not be deleted")
            return
        wanted = attributes.namespace
        if not wanted or attributes.resource == "namespaces" or attributes.resource in _ALWAYS_ANSWERED:
            return
        namespace = cluster.get("namespaces", "", wanted)
        if namespace is None:
            raise not_found(_NAMESPACES, wanted)
        if decide_termination(namespace):
            text = f"unable to create new content in namespace {wanted} because it is being terminated"
            cause = Cause("NamespaceTerminating", f"namespace {wanted} is being terminated", "metadata.namespace")
            raise refusal(attributes, text, causes=[cause])
