"""Pods that a workload wants made or deleted, each under a key of its own.

An owner's reconcile decides that so many pods must be made and these deleted; here each becomes a key, so that they
run beside one another and one failure stops no other. Until the cache shows what was asked for, it counts as done: that
keeps an owner from asking twice. A pod that was made and is not there a second later, twice looked for, has gone before
its owner could see it. After five minutes without a sign anything is forgotten.

Creations go in batches of 1, 2, 4 and so on, and a failure starts again at 1 after a pause, so that what cannot be
made is not asked for by the hundred. Names are chosen here, from the owner's uid and version and a counter, and so
repeat in virtual time, but not after a restart.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Action, Create, Delete, ObjectReference, RecordEvent
from doorman.client.controller_contract import DONE, NO_RETRY, Result
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import fnv1a_32, safe_suffix

FORGET_SECONDS: Final = 300.0
NAME_BASE_MAX: Final = 58
PAUSE_SECONDS_MIN: Final = 0.1
PAUSE_SECONDS_MAX: Final = 30.0
LOOK_AFTER_SECONDS: Final = 1.0
KEYS: Final = ("create", "delete", "late")
"""`late/<key of an owner>`: those of its pods that were asked for should be there by now."""
ASKED_FOR: Final = "asked for"
"""In place of the time of a deletion that was asked for and is not seen yet."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Whose pods: its key in the controller's queue, and how events name it."""

    key: str
    meta: ObjectMeta
    reference: ObjectReference


class PodControlFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What could not be made or deleted, to be told by the owner's next reconcile."""

    reason: str
    message: str


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    owner: Owner
    at: Instant
    uid: str = ""
    body: Document | None = None
    looks: int = 0
    """How often its key has come up: first it is made, later it is looked for."""


class _Pace:
    __slots__ = ("batch", "failures", "paused_until")

    def __init__(self) -> None:
        self.batch = 1
        self.failures = 0
        self.paused_until: Instant = 0.0


class Texts(msgspec.Struct, frozen=True, kw_only=True):
    """How events put it; `{pod}`, `{owner}` and `{error}` are filled in."""

    created: str = "Created pod: {pod}"
    deleted: str = "Deleted pod: {pod}"
    not_created: str = "Error creating: {error}"
    not_deleted: str = "Error deleting: {error}"


DEFAULT_TEXTS: Final = Texts()


class PodControl:
    """Owned by one controller, which hands it the keys that begin with one of `KEYS`."""

    def __init__(self, component: str, pods: ListerOf[Pod], texts: Texts = DEFAULT_TEXTS) -> None:
        self._component = component
        self._pods = pods
        self._texts = texts
        self._creating: dict[str, _Asked] = {}
        self._deleting: dict[str, _Asked] = {}
        self._by_owner: dict[str, set[str]] = {}
        self._paces: dict[str, _Pace] = {}
        self._failures: dict[str, list[PodControlFailure]] = {}
        self._counters: dict[str, int] = {}

    def creating(self, owner_key: str, now: Instant) -> list[Document]:
        """Bodies of pods asked for and not yet seen."""
        self._settle(owner_key, now)
        keys = sorted(self._by_owner.get(owner_key, ()))
        return [asked.body for key in keys if (asked := self._creating.get(key)) is not None and asked.body is not None]

    @property
    def is_deleting_any(self) -> bool:
        """Whether some deletion was asked for and is not seen yet."""
        return bool(self._deleting)

    def is_deleting(self, pod: Pod) -> bool:
        """Whether this very pod is being deleted on our behalf, seen or not."""
        asked = self._deleting.get(pod.metadata.key)
        return asked is not None and asked.uid == pod.metadata.uid

    def seen_as_deleting(self, pod: Pod) -> Pod:
        """The pod as it will be seen: one whose deletion was asked for is being deleted."""
        if pod.metadata.deletion_timestamp or not self.is_deleting(pod):
            return pod
        meta = msgspec.structs.replace(pod.metadata, deletion_timestamp=ASKED_FOR)
        return msgspec.structs.replace(pod, metadata=meta)

    def failures(self, owner_key: str) -> list[PodControlFailure]:
        """Since the last time this was asked."""
        return self._failures.pop(owner_key, [])

    def paused_until(self, owner_key: str) -> Instant:
        pace = self._paces.get(owner_key)
        return pace.paused_until if pace is not None else 0.0

    def create(self, owner: Owner, bodies: list[Document], now: Instant) -> list[tuple[str, Instant]]:
        """Ask for the next batch of these pods; gives the keys to wake. What is left over is for a later reconcile."""
        if not bodies:
            pace = self._paces.get(owner.key)
            if pace is not None and not self._by_owner.get(owner.key):
                del self._paces[owner.key]
            return []
        pace = self._paces.setdefault(owner.key, _Pace())
        if now < pace.paused_until:
            return [(owner.key, pace.paused_until)]
        if any(key in self._creating for key in self._by_owner.get(owner.key, ())):
            return []
        wakes = [(self._ask(owner, body, now), now) for body in bodies[: pace.batch]]
        pace.batch *= 2
        return [*wakes, (f"late/{owner.key}", now + LOOK_AFTER_SECONDS)]

    def delete(self, owner: Owner, pods: list[Pod], now: Instant) -> list[tuple[str, Instant]]:
        wakes = []
        for pod in pods:
            if pod.metadata.deletion_timestamp or self.is_deleting(pod):
                continue
            key = pod.metadata.key
            self._deleting[key] = _Asked(owner=owner, at=now, uid=pod.metadata.uid)
            self._by_owner.setdefault(owner.key, set()).add(key)
            wakes.append((f"delete/{key}", now))
        return wakes

    def with_late(self, result: Result, owner_key: str, now: Instant) -> Result:
        """The result of an owner's reconcile, and wakes for those of its pods that are not seen yet."""
        pending = {
            key: asked.at + LOOK_AFTER_SECONDS
            for key in self._by_owner.get(owner_key, ())
            if (asked := self._creating.get(key)) is not None
        }
        if not pending:
            return result
        late = [(f"create/{key}", now) for key in sorted(pending) if pending[key] <= now]
        again = now + LOOK_AFTER_SECONDS if late else min(pending.values())
        look = f"late/{owner_key}"
        others = [wake for wake in result.wakes if wake[0] != look]
        return msgspec.structs.replace(result, wakes=[*others, *late, (look, again)])

    def _look_for_late(self, owner_key: str, now: Instant) -> Result:
        """The owner looks again if something is missing or has failed; most have seen their pods long since."""
        pace = self._paces.get(owner_key)
        has_failed = owner_key in self._failures or (pace is not None and pace.failures > 0)
        return Result(wakes=((owner_key, now),)) if has_failed or self._by_owner.get(owner_key) else DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        """`create/<namespace>/<name>`, `delete/<namespace>/<name>` or `late/<key of an owner>`."""
        kind, _, pod_key = key.partition("/")
        if kind == "late":
            return self._look_for_late(pod_key, now)
        asked = (self._creating if kind == "create" else self._deleting).get(pod_key)
        if asked is None:
            return DONE
        namespace, _, name = pod_key.partition("/")
        if kind == "create":
            if self._pods.get(pod_key) is not None:
                return DONE
            at = now if asked.looks else asked.at
            self._creating[pod_key] = msgspec.structs.replace(asked, looks=asked.looks + 1, at=at)
            if asked.looks == 1:
                # A key never has two turns at once, so the creation is over; the cache has a second to show it.
                return DONE
            if asked.looks > 1:
                del self._creating[pod_key]
                self._drop(asked.owner.key, pod_key)
                return Result(wakes=((asked.owner.key, now),))
            assert asked.body is not None, "what is created has a body"
            create = Create(resource="pods", namespace=namespace, body=asked.body)
            text = self._texts.created.format(pod=name, owner=asked.owner.meta.name)
            told = self._event(asked.owner, "SuccessfulCreate", text)
            return Result(actions=(create, told), retry=NO_RETRY)
        found = self._pods.get(pod_key)
        if found is None or found.metadata.uid != asked.uid or found.metadata.deletion_timestamp:
            return DONE
        delete: Action = Delete(resource="pods", namespace=namespace, name=name, uid=asked.uid)
        text = self._texts.deleted.format(pod=name, owner=asked.owner.meta.name)
        told = self._event(asked.owner, "SuccessfulDelete", text)
        return Result(actions=(delete, told), retry=NO_RETRY)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        kind, _, pod_key = key.partition("/")
        asked = (self._creating if kind == "create" else self._deleting).pop(pod_key, None)
        if asked is None:
            return
        self._drop(asked.owner.key, pod_key)
        if kind == "delete":
            if not (isinstance(error, ApiError) and error.code == 404):
                text = self._texts.not_deleted.format(pod=_name(pod_key), owner=asked.owner.meta.name, error=error)
                self._note(asked.owner, "FailedDelete", text)
            return
        pace = self._paces.setdefault(asked.owner.key, _Pace())
        pace.batch = 1
        pace.failures += 1
        pause = min(PAUSE_SECONDS_MIN * 2.0 ** min(pace.failures - 1, 20), PAUSE_SECONDS_MAX)
        pace.paused_until = now + pause
        if not is_namespace_going(error):
            text = self._texts.not_created.format(pod=_name(pod_key), owner=asked.owner.meta.name, error=error)
            self._note(asked.owner, "FailedCreate", text)

    def forget(self, owner_key: str) -> None:
        """The owner is gone."""
        for key in self._by_owner.pop(owner_key, ()):
            self._creating.pop(key, None)
            self._deleting.pop(key, None)
        self._paces.pop(owner_key, None)
        self._failures.pop(owner_key, None)
        self._counters.pop(owner_key, None)

    def failure_events(self, owner: Owner, failures: list[PodControlFailure]) -> list[Action]:
        return [self._event(owner, failure.reason, failure.message, kind="Warning") for failure in failures]

    def _ask(self, owner: Owner, body: Document, now: Instant) -> str:
        meta = body["metadata"]
        name = meta.get("name") or self._new_name(owner, meta["generateName"])
        key = f"{owner.meta.namespace}/{name}"
        named = {**body, "metadata": {**meta, "name": name, "namespace": owner.meta.namespace}}
        self._creating[key] = _Asked(owner=owner, at=now, body=named)
        self._by_owner.setdefault(owner.key, set()).add(key)
        return f"create/{key}"

    def _new_name(self, owner: Owner, base: str) -> str:
        while True:
            count = self._counters[owner.key] = self._counters.get(owner.key, 0) + 1
            seed = f"{owner.meta.uid}/{owner.meta.resource_version}/{base}/{count}"
            name = base[:NAME_BASE_MAX] + safe_suffix(fnv1a_32(seed.encode()))
            key = f"{owner.meta.namespace}/{name}"
            if key not in self._creating and self._pods.get(key) is None:
                return name

    def _settle(self, owner_key: str, now: Instant) -> None:
        """Drop what the cache shows by now, and what has been waited for too long."""
        for key in sorted(self._by_owner.get(owner_key, ())):
            found = self._pods.get(key)
            asked = self._creating.get(key)
            if asked is not None and (found is not None or now - asked.at >= FORGET_SECONDS):
                del self._creating[key]
            asked = self._deleting.get(key)
            if asked is not None and (
                found is None
                or found.metadata.uid != asked.uid
                or found.metadata.deletion_timestamp
                or now - asked.at >= FORGET_SECONDS
            ):
                del self._deleting[key]
            if key not in self._creating and key not in self._deleting:
                self._drop(owner_key, key)

    def _drop(self, owner_key: str, key: str) -> None:
        keys = self._by_owner.get(owner_key)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._by_owner[owner_key]

    def _note(self, owner: Owner, reason: str, message: str) -> None:
        self._failures.setdefault(owner.key, []).append(PodControlFailure(reason=reason, message=message))

    def _event(self, owner: Owner, reason: str, message: str, *, kind: str = "Normal") -> RecordEvent:
        return RecordEvent(
            regarding=owner.reference, type=kind, reason=reason, message=message, component=self._component
        )


def _name(pod_key: str) -> str:
    return pod_key.rpartition("/")[2]


def is_namespace_going(error: Exception) -> bool:
    """A creation refused because the namespace is being deleted is no failure worth telling."""
    return isinstance(error, ApiError) and any(cause.reason == "NamespaceTerminating" for cause in error.causes)


def pod_body(
    template: Mapping[str, Any],  # JSON
    *,
    owner: Mapping[str, Any],  # an owner reference as JSON
    generate_name: str = "",
    name: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
    spec: Mapping[str, Any] | None = None,
) -> Document:
    """A pod made of a template: its labels, annotations, finalizers and spec, and what is laid over them."""
    of_template = template.get("metadata") or {}
    meta: Document = {"ownerReferences": [dict(owner)]}
    if generate_name:
        meta["generateName"] = generate_name
    if name:
        meta["name"] = name
    both_labels = {**(of_template.get("labels") or {}), **(labels or {})}
    both_annotations = {**(of_template.get("annotations") or {}), **(annotations or {})}
    both_finalizers = [*(of_template.get("finalizers") or []), *finalizers]
    if both_labels:
        meta["labels"] = both_labels
    if both_annotations:
        meta["annotations"] = both_annotations
    if both_finalizers:
        meta["finalizers"] = both_finalizers
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {**(template.get("spec") or {}), **(spec or {})},
    }
