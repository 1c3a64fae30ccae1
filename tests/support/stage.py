"""A stage for controllers: caches, a clock moved by hand, and just enough of a server to carry actions out.

Controllers are called as their runner would call them: changes become keys, keys are reconciled one after
another, wakes come at their instant, failed actions are tried again. So a timeline of hours runs at its real
parameters in milliseconds, and every action is kept with the instant at which it was asked for.
"""

import copy
import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from doorman.api.views.meta import View, orphanage_of
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import POD_INDEXERS
from doorman.api.views.pods import Pod
from doorman.base.clock import VIRTUAL_START, Instant
from doorman.base.errors import ApiError, GroupResource, already_exists, conflict, not_found, stale
from doorman.base.instants import to_micro_time, to_time
from doorman.client.actions import (
    Action,
    Bind,
    Create,
    Delete,
    Patch,
    PatchType,
    RecordEvent,
    Renew,
    Update,
)
from doorman.client.controller_contract import Controller, FailureListener, ObjectChange, Result, Retry
from doorman.client.informer_cache import InformerCache

Document = dict[str, Any]

MERGE_KEYS = {"conditions": "type", "ownerReferences": "uid", "addresses": "type", "containers": "name"}
STEPS_MAX = 2_000_000
LEASES = "leases.coordination.k8s.io"


COMMON_INDEXERS: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "namespace": lambda one: (one.metadata.namespace,),
    "owner": lambda one: tuple(owner.uid for owner in one.metadata.owner_references),
    "orphan": orphanage_of,
}


class Stage:
    """Objects, controllers and the time."""

    def __init__(self, kinds: Mapping[str, type[View]] | None = None, start: Instant = VIRTUAL_START) -> None:
        self.start_instant = start
        self.now = start
        self.documents: dict[str, dict[str, Document]] = {}
        self.caches: dict[str, InformerCache[Any]] = {}
        self._views: dict[str, type[View]] = {}
        self.actions: list[tuple[float, str, Action]] = []
        self.events: list[tuple[float, RecordEvent]] = []
        self.failures: list[Callable[[Action], Exception | None]] = []
        self.gave_up: list[tuple[float, str, str, Exception]] = []
        self._controllers: list[Controller] = []
        self._queue: deque[tuple[int, str]] = deque()
        self._queued: set[tuple[int, str]] = set()
        self._wakes: list[tuple[Instant, int, int, str]] = []
        self._wake_number = 0
        self._attempts: dict[tuple[int, str], int] = {}
        self._revision = 0
        self._uid = 0
        self._suffix = 0
        self.add_kind("pods", Pod, POD_INDEXERS)
        self.add_kind("nodes", Node)
        for resource, view in (kinds or {}).items():
            self.add_kind(resource, view)

    def add_kind(
        self, resource: str, view: type[View], indexers: Mapping[str, Callable[[Any], Iterable[str]]] | None = None
    ) -> InformerCache[Any]:
        self._views[resource] = view
        self.documents.setdefault(resource, {})
        self.caches[resource] = InformerCache({**COMMON_INDEXERS, **(indexers or {})})
        return self.caches[resource]

    def add(self, controller: Controller) -> None:
        """Start a controller: what is there already is an add, then it may wake keys of its own."""
        self._controllers.append(controller)
        number = len(self._controllers) - 1
        for source in controller.sources:
            for view in self.caches[source.resource].list():
                for key in source.keys(ObjectChange(source.resource, None, view)):
                    self._enqueue(number, key)
        self._take(number, "", controller.start(self.now))

    def restart(self, old: Controller, new: Controller) -> None:
        """The process of a controller died and another took over."""
        number = self._controllers.index(old)
        self._controllers[number] = _Gone(old)
        self.add(new)

    def create(self, resource: str, document: Document) -> Document:
        document = copy.deepcopy(document)
        meta = document.setdefault("metadata", {})
        if "name" not in meta:
            self._suffix += 1
            meta["name"] = f"{meta['generateName']}{self._suffix:05d}"
        key = self._key(meta)
        if key in self.documents[resource]:
            raise already_exists(_group_resource(resource), meta["name"])
        self._uid += 1
        meta.setdefault("uid", f"uid-{self._uid}")
        meta.setdefault("creationTimestamp", to_time(self.now))
        meta.setdefault("generation", 1)
        if resource == "pods":
            document.setdefault("status", {}).setdefault("phase", "Pending")
        self._store(resource, key, document)
        return document

    def patch(self, resource: str, key: str, body: Document) -> None:
        document = copy.deepcopy(self._found(resource, key))
        self._store(resource, key, merge(document, body))

    def delete(self, resource: str, key: str, grace_seconds: int | None = None) -> None:
        self._delete(Delete(resource=resource, **_split(key), grace_seconds=grace_seconds))

    def get(self, resource: str, key: str) -> Document | None:
        return copy.deepcopy(self.documents[resource].get(key))

    @property
    def elapsed(self) -> float:
        return round(self.now - self.start_instant, 6)

    def at(self, seconds: float) -> None:
        """Let the time pass until `seconds` after the start, everything that falls due included."""
        self.advance(self.start_instant + seconds - self.now)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(STEPS_MAX):
            self.settle()
            if not self._wakes or self._wakes[0][0] > end:
                break
            self.now = max(self.now, self._wakes[0][0])
            while self._wakes and self._wakes[0][0] <= self.now:
                _, _, number, key = heapq.heappop(self._wakes)
                self._enqueue(number, key)
        else:
            raise AssertionError("the controllers never come to rest")
        self.now = end

    def settle(self) -> None:
        """Reconcile until no key is left at this instant."""
        for _ in range(STEPS_MAX):
            if not self._queue:
                return
            number, key = self._queue.popleft()
            self._queued.discard((number, key))
            self._take(number, key, self._controllers[number].reconcile(key, self.now))
        raise AssertionError("the controllers never come to rest")

    def messages(self, reason: str = "") -> list[tuple[float, str]]:
        return [(at, event.message) for at, event in self.events if reason in ("", event.reason)]

    def done(self, kind: type[Action], resource: str = "") -> list[tuple[float, Any]]:
        return [
            (at, action)
            for at, _, action in self.actions
            if isinstance(action, kind) and resource in ("", getattr(action, "resource", ""))
        ]

    def fail(self, kind: type[Action], times: int, error: Exception, resource: str = "") -> None:
        """Let the next `times` actions of this kind fail."""
        left = [times]

        def failing(action: Action) -> Exception | None:
            if left[0] and isinstance(action, kind) and resource in ("", getattr(action, "resource", "")):
                left[0] -= 1
                return error
            return None

        self.failures.append(failing)

    def _enqueue(self, number: int, key: str) -> None:
        if (number, key) not in self._queued:
            self._queued.add((number, key))
            self._queue.append((number, key))

    def _take(self, number: int, key: str, result: Result) -> None:
        controller = self._controllers[number]
        for wake_key, instant in result.wakes:
            self._wake(number, wake_key, instant)
        try:
            for action in result.actions:
                self._carry_out(controller.name, action)
        except ApiError as error:
            self._retry(number, key, result.retry, error)
        else:
            self._attempts.pop((number, key), None)

    def _retry(self, number: int, key: str, retry: Retry, error: ApiError) -> None:
        attempts = self._attempts.get((number, key), 0) + 1
        if attempts >= retry.attempts_max:
            self._attempts.pop((number, key), None)
            self.gave_up.append((self.elapsed, self._controllers[number].name, key, error))
            self._controllers[number].gave_up(key, error, self.now)
            return
        controller = self._controllers[number]
        if isinstance(controller, FailureListener):
            controller.failed(key, error)
        self._attempts[(number, key)] = attempts
        delay = min(retry.delay_seconds * retry.factor ** (attempts - 1), retry.delay_seconds_max)
        self._wake(number, key, self.now + delay)

    def _wake(self, number: int, key: str, instant: Instant) -> None:
        if instant <= self.now:
            self._enqueue(number, key)
            return
        self._wake_number += 1
        heapq.heappush(self._wakes, (instant, self._wake_number, number, key))

    def _carry_out(self, who: str, action: Action) -> None:
        self.actions.append((self.elapsed, who, action))
        for failing in self.failures:
            error = failing(action)
            if error is not None:
                raise error
        match action:
            case RecordEvent():
                self.events.append((self.elapsed, action))
            case Create():
                body = copy.deepcopy(action.body)
                if action.namespace:
                    body.setdefault("metadata", {}).setdefault("namespace", action.namespace)
                self.create(action.resource, body)
            case Delete():
                if (patch := action.patch_before()) is not None:
                    self._patch(patch)
                self._delete(action)
            case Patch():
                self._patch(action)
            case Update():
                self._update(action)
            case Bind():
                key = f"{action.namespace}/{action.name}"
                bound = {**self._found("pods", key)["spec"], "nodeName": action.node}
                self._store("pods", key, {**copy.deepcopy(self._found("pods", key)), "spec": bound})
            case Renew():
                for node in action.nodes:
                    self.patch(LEASES, f"kube-node-lease/{node}", {"spec": {"renewTime": to_micro_time(action.at)}})
            case _:
                raise AssertionError(f"the stage cannot {action}")

    def _patch(self, action: Patch) -> None:
        key = f"{action.namespace}/{action.name}" if action.namespace else action.name
        document = copy.deepcopy(self._found(action.resource, key))
        meta = action.body.get("metadata", {})
        if meta.get("uid", document["metadata"]["uid"]) != document["metadata"]["uid"]:
            raise conflict(_group_resource(action.resource), action.name, "Precondition failed")
        if (
            meta.get("resourceVersion", document["metadata"]["resourceVersion"])
            != document["metadata"]["resourceVersion"]
        ):
            raise stale(_group_resource(action.resource), action.name)
        assert action.type in (PatchType.MERGE, PatchType.STRATEGIC), action.type
        patched = (merge if action.type == PatchType.MERGE else strategic)(document, copy.deepcopy(action.body))
        self._store(action.resource, key, patched)

    def _update(self, action: Update) -> None:
        key = f"{action.namespace}/{action.name}" if action.namespace else action.name
        old = self._found(action.resource, key)
        body = copy.deepcopy(action.body)
        version = body["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise stale(_group_resource(action.resource), action.name)
        if action.subresource == "finalize" and not body["spec"]["finalizers"]:
            self._remove(action.resource, key)
            return
        self._store(action.resource, key, {**old, **body, "metadata": {**old["metadata"], **body["metadata"]}})

    def _delete(self, action: Delete) -> None:
        key = f"{action.namespace}/{action.name}" if action.namespace else action.name
        document = copy.deepcopy(self._found(action.resource, key))
        meta = document["metadata"]
        if action.uid and action.uid != meta["uid"]:
            raise conflict(_group_resource(action.resource), action.name, "Precondition failed")
        finalizers = [f for f in meta.get("finalizers", []) if f not in ("orphan", "foregroundDeletion")]
        finalizers += {"Orphan": ["orphan"], "Foreground": ["foregroundDeletion"]}.get(action.propagation, [])
        if not action.propagation:
            finalizers = meta.get("finalizers", [])
        grace = 0
        if action.resource == "pods":
            bound = document.get("spec", {}).get("nodeName")
            finished = document.get("status", {}).get("phase") in ("Succeeded", "Failed")
            grace = document.get("spec", {}).get("terminationGracePeriodSeconds", 30)
            grace = action.grace_seconds if action.grace_seconds is not None else grace
            grace = grace if bound and not finished else 0
        if grace == 0 and not finalizers and action.resource != "namespaces":
            self._remove(action.resource, key)
            return
        if "deletionTimestamp" in meta and (grace or not meta.get("deletionGracePeriodSeconds")):
            return
        meta["finalizers"] = finalizers
        meta["deletionTimestamp"] = to_time(self.now + grace)
        meta["deletionGracePeriodSeconds"] = grace
        meta["generation"] = meta.get("generation", 0) + 1
        if action.resource == "namespaces":
            document.setdefault("status", {})["phase"] = "Terminating"
        self._store(action.resource, key, document)

    def _store(self, resource: str, key: str, document: Document) -> None:
        before = self.documents[resource].get(key)
        if before is not None and before == document:
            return
        if before is not None and before.get("spec") != document.get("spec"):
            document["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
        meta = document["metadata"]
        held = meta.get("finalizers") or document.get("spec", {}).get("finalizers")
        if meta.get("deletionTimestamp") and not held and not meta.get("deletionGracePeriodSeconds"):
            self._remove(resource, key)
            return
        self._revision += 1
        meta["resourceVersion"] = str(self._revision)
        self.documents[resource][key] = document
        view = self._view(resource, document)
        self._tell(ObjectChange(resource, self.caches[resource].put(key, view), view))

    def _remove(self, resource: str, key: str) -> None:
        del self.documents[resource][key]
        self._tell(ObjectChange(resource, self.caches[resource].remove(key), None))

    def _tell(self, change: ObjectChange) -> None:
        for number, controller in enumerate(self._controllers):
            for source in controller.sources:
                if source.resource == change.resource:
                    for key in source.keys(change):
                        self._enqueue(number, key)

    def _view(self, resource: str, document: Document) -> View:
        return msgspec.convert(document, self._views[resource])

    def _found(self, resource: str, key: str) -> Document:
        found = self.documents[resource].get(key)
        if found is None:
            raise not_found(_group_resource(resource), key.rpartition("/")[2])
        return found

    @staticmethod
    def _key(meta: Document) -> str:
        return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


class _Gone:
    """A controller whose process is gone."""

    workers = 1
    sources = ()

    def __init__(self, controller: Controller) -> None:
        self.name = controller.name

    def start(self, now: Instant) -> Result:
        return Result()

    def reconcile(self, key: str, now: Instant) -> Result:
        return Result()

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        return None


def merge(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    out = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merge(out.get(name), value)
    return out


def strategic(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    out = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if name.startswith("$"):
            if name.startswith("$deleteFromPrimitiveList/"):
                at = name.partition("/")[2]
                out[at] = [item for item in out.get(at, []) if item not in value]
            continue
        if value is None:
            out.pop(name, None)
        elif name in MERGE_KEYS:
            out[name] = _merge_list(out.get(name, []), value, MERGE_KEYS[name])
        elif name == "finalizers":
            out[name] = out.get(name, []) + [item for item in value if item not in out.get(name, [])]
        else:
            out[name] = strategic(out.get(name), value)
    return out


def _merge_list(items: list[Document], patches: list[Document], key: str) -> list[Document]:
    out = list(items)
    for patch in patches:
        at = next((i for i, item in enumerate(out) if item[key] == patch[key]), None)
        if patch.get("$patch") == "delete":
            out = [item for item in out if item[key] != patch[key]]
        elif at is None:
            out.append({name: value for name, value in patch.items() if value is not None})
        else:
            out[at] = strategic(out[at], patch)
    return out


def _group_resource(resource: str) -> GroupResource:
    name, _, group = resource.partition(".")
    return GroupResource(group, name)


def _split(key: str) -> dict[str, str]:
    namespace, _, name = key.rpartition("/")
    return {"namespace": namespace, "name": name}
