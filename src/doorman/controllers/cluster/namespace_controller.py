"""namespace-controller: empties a namespace that is being deleted, then lets it go.

It reads namespaces and the metadata of everything that lives in one. A few seconds after a namespace was marked
deleted all its pods are deleted; only when none is left everything else is; when nothing is left at all the finalizer
`kubernetes` is taken off, and with it the namespace goes. What holds it up is said in its conditions.

Keys: `namespace/<name>`, and `content/<resource>/<namespace>/<name>` for each object that must go.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.core import Namespace
from doorman.api.views.meta import Object
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Action, Delete, Patch, Update
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "namespace-controller"
FINALIZER: Final = "kubernetes"
WORKERS: Final = 16
LOOK_AGAIN_SECONDS_MIN: Final = 0.1
LOOK_AGAIN_SECONDS_MAX: Final = 5.0

NamespaceContents = Mapping[str, Sequence[Object]]
"""By group resource: what is left in one namespace."""


class NamespaceSettings(msgspec.Struct, frozen=True, kw_only=True):
    deletion_delay_seconds: float = 0.5
    """How long after the mark the emptying begins, so that whoever was just creating something is done. Upstream waits
    five seconds, because its API servers learn of the mark one after the other; where there is one, it knows at once.
    """


SEVERAL_SERVERS: Final = NamespaceSettings(deletion_delay_seconds=5.0)


def namespace_keys(change: ObjectChange) -> Iterable[str]:
    new: Namespace | None = change.new
    return (f"namespace/{new.metadata.name}",) if new is not None and new.metadata.deletion_timestamp else ()


SOURCES: Final = (Source("namespaces", namespace_keys),)


def decide_conditions(contents: NamespaceContents, before: Namespace, now: Instant) -> list[dict[str, Any]]:
    """The conditions that say what is left, as far as they changed."""
    holds_up = decide_what_holds_up(contents)
    left = {resource: len(objects) for resource, objects in holds_up.items() if objects}
    held = Counter(name for objects in holds_up.values() for one in objects for name in one.metadata.finalizers)
    remaining = ", ".join(f"{_dotted(resource)} has {count} resource instances" for resource, count in left.items())
    holding = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(held.items()))
    wanted = (
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain", f"Some resources are remaining: {remaining}")
        if left
        else ("NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed"),
        (
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {holding}",
        )
        if held
        else (
            "NamespaceFinalizersRemaining",
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    )
    changed = []
    for kind, status, reason, message in wanted:
        found = before.status.condition(kind)
        if found is not None and (found.status, found.reason, found.message) == (status, reason, message):
            continue
        since = found.last_transition_time if found is not None and found.status == status else to_time(now)
        changed.append(
            {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
        )
    return changed


def decide_what_holds_up(contents: NamespaceContents) -> NamespaceContents:
    """Pods as long as there are any, for nothing else is touched before; then what does not go at once."""
    if contents.get("pods"):
        return {"pods": contents["pods"]}
    return {
        resource: [one for one in objects if one.metadata.finalizers or one.metadata.deletion_timestamp]
        for resource, objects in contents.items()
    }


def decide_finalize(namespace: Namespace) -> Action:
    """Without our finalizer; others keep theirs."""
    left = [name for name in namespace.spec.finalizers if name != FINALIZER]
    body = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace.metadata.name, "uid": namespace.metadata.uid},
        "spec": {"finalizers": left},
    }
    return Update(resource="namespaces", name=namespace.metadata.name, subresource="finalize", body=body)


def decide_next(contents: NamespaceContents) -> Iterable[tuple[str, Object]]:
    """What must be deleted now: pods as long as there are any, then everything else."""
    pods = contents.get("pods")
    if pods:
        return [("pods", pod) for pod in pods if not pod.metadata.deletion_timestamp]
    return [
        (resource, one)
        for resource, objects in contents.items()
        for one in objects
        if not one.metadata.deletion_timestamp
    ]


class NamespaceController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        namespaces: ListerOf[Namespace],
        contents: Mapping[str, ListerOf[Object]],
        settings: NamespaceSettings | None = None,
    ) -> None:
        self._namespaces = namespaces
        self._contents = {resource: contents[resource] for resource in sorted(contents)}
        self._settings = settings if settings is not None else NamespaceSettings()
        self._looks: dict[str, int] = {}
        """How often each namespace was looked at while something was left."""

    def add_kind(self, resource: str, lister: ListerOf[Object], *, namespaced: bool) -> Sequence[Source]:
        """One more kind whose objects may live in namespaces."""
        if not namespaced:
            return ()
        contents = {**self._contents, resource: lister}
        self._contents = {name: contents[name] for name in sorted(contents)}
        return ()

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind == "content":
            return self._delete_one(*rest.split("/"))
        assert kind == "namespace", f"unknown key {key}"
        return self._empty(rest, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The namespace is looked at again in any case."""
        return

    def _empty(self, name: str, now: Instant) -> Result:
        namespace = self._namespaces.get(name)
        if namespace is None or not namespace.metadata.deletion_timestamp:
            self._looks.pop(name, None)
            return DONE
        if FINALIZER not in namespace.spec.finalizers:
            return DONE
        begins = from_time(namespace.metadata.deletion_timestamp) + self._settings.deletion_delay_seconds
        if now < begins:
            return Result(wakes=((f"namespace/{name}", begins),))
        contents = {resource: lister.by(BY_NAMESPACE, name) for resource, lister in self._contents.items()}
        actions: list[Action] = []
        wakes: list[tuple[str, Instant]] = []
        if any(contents.values()):
            wakes.extend((f"content/{resource}/{one.metadata.key}", now) for resource, one in decide_next(contents))
            wakes.append((f"namespace/{name}", now + self._look_again_seconds(name)))
        else:
            self._looks.pop(name, None)
            actions.append(decide_finalize(namespace))
        conditions = decide_conditions(contents, namespace, now)
        if conditions:
            body = {"status": {"conditions": conditions}}
            actions.insert(0, Patch(resource="namespaces", name=name, subresource="status", body=body))
        return Result(actions=actions, wakes=wakes)

    def _look_again_seconds(self, name: str) -> float:
        looks = self._looks[name] = self._looks.get(name, 0) + 1
        return min(LOOK_AGAIN_SECONDS_MIN * 2.0 ** min(looks - 1, 10), LOOK_AGAIN_SECONDS_MAX)

    def _delete_one(self, resource: str, namespace: str, name: str) -> Result:
        found = self._contents[resource].get(f"{namespace}/{name}")
        if found is None or found.metadata.deletion_timestamp:
            return DONE
        delete = Delete(
            resource=resource, namespace=namespace, name=name, uid=found.metadata.uid, propagation="Background"
        )
        return Result(actions=(delete,))


def _dotted(resource: str) -> str:
    """`pods.` and `deployments.apps`: a dot even without a group."""
    return resource if "." in resource else f"{resource}."
