"""Does what is planned, on the copy, through the same API as people do."""

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final, assert_never

import msgspec

from doorman.api.taints import Taint
from doorman.api.views.meta import controller_of
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_NODE
from doorman.api.views.pods import Pod
from doorman.api.well_known import MIRROR_POD_ANNOTATION
from doorman.base.clock import Clock
from doorman.base.durations import format_duration
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Patch, PatchType
from doorman.nodes.node_annotations import SILENT
from doorman.nodes.node_commands import cut_off
from doorman.plan.plan_actions import (
    ApplyObjects,
    DrainNodes,
    LoseNodes,
    NodeChoice,
    PlanAction,
    PlanError,
    TaintNodes,
    chosen_nodes,
)
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.in_process.loopback_client import LoopbackClient
from doorman.semantics.taints.taint_spec import TaintRefused, apply_taint_change
from doorman.snapshot.redaction import redacted

GONE_POLL_SECONDS: Final = 1.0
"""How often kubectl drain looks whether the pods are gone."""
POLLS_PER_RETRY: Final = 5
"""After so many looks, which is 5 s, it asks again for an eviction that a budget has refused."""
NAMES_MAX: Final = 3
REDACTED_NOTE: Final = (
    "the snapshot is redacted: changes of env, args and probes are not seen; plan on the cluster, or save --no-redact"
)


class ActionRunner:
    def __init__(self, plane: ControlPlane, client: LoopbackClient, clock: Clock, *, redacts: bool = False) -> None:
        """`redacts`: what is applied is redacted as the snapshot was, or every template would seem to change."""
        self._plane = plane
        self._client = client
        self._clock = clock
        self._redacts = redacts
        self._nodes = plane.informers.lister("nodes")
        self._pods = plane.informers.lister("pods")
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None
        self.notes: dict[str, None] = {}

    @property
    def is_busy(self) -> bool:
        """Whether something that was begun is not done yet."""
        return bool(self._tasks)

    def check(self) -> None:
        """Raise what went wrong with something that was begun."""
        if self._fault is not None:
            raise self._fault

    async def do(self, action: PlanAction) -> None:
        """What takes time is begun. Raises `PlanError` for what cannot be done."""
        try:
            match action:
                case TaintNodes():
                    await self._taint(action)
                case DrainNodes():
                    await self._drain(action)
                case LoseNodes():
                    await self._lose(action)
                case ApplyObjects():
                    await self._apply(action)
                case _:
                    assert_never(action)
        except ApiError as error:
            raise PlanError(f"{words(action)}: {error.message}", "the API would refuse it, too") from error

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _chosen(self, choice: NodeChoice) -> list[Node]:
        return chosen_nodes(choice, self._nodes.list())

    async def _taint(self, action: TaintNodes) -> None:
        nodes = self._chosen(action.nodes)
        for node in nodes:
            name = node.metadata.name
            outcome = apply_taint_change(node.spec.taints, action.change, node_name=name, overwrite=action.overwrite)
            if isinstance(outcome, TaintRefused):
                raise PlanError(f"node {name}: {'; '.join(outcome.reasons)}", "kubectl taint would refuse it, too")
            if outcome.taints != tuple(node.spec.taints):
                await self._patch(name, {"spec": {"taints": [_taint_document(one) for one in outcome.taints] or None}})

    async def _lose(self, action: LoseNodes) -> None:
        names = [node.metadata.name for node in self._chosen(action.nodes)]
        for name in names:
            await self._patch(name, cut_off())
        if action.seconds is not None:
            self._begin(self._bring_back(names, action.seconds))

    async def _bring_back(self, names: Iterable[str], seconds: float) -> None:
        await asyncio.sleep(seconds)
        for name in names:
            await self._patch(name, {"metadata": {"annotations": {SILENT: None}}})

    async def _apply(self, action: ApplyObjects) -> None:
        for text in action.objects:
            doc: Document = msgspec.json.decode(text)
            group, _, version = str(doc.get("apiVersion", "")).rpartition("/")
            kind = self._plane.kinds.of_kind(group, version, str(doc.get("kind", "")))
            if kind is None:
                raise PlanError(
                    f'no matches for kind "{doc.get("kind")}" in version "{doc.get("apiVersion")}"',
                    "custom kinds are not in a plan; leave it out",
                )
            metadata = doc.get("metadata") or {}
            if not metadata.get("name"):
                raise PlanError(f"a {kind.kind} without a name", "give it metadata.name")
            namespace = metadata.get("namespace", "default") if kind.namespaced else ""
            shown = redacted(doc) if self._redacts else doc
            if shown != doc:
                self.notes[REDACTED_NOTE] = None
            await self._client.apply(kind, namespace, shown, self._clock.now())

    async def _drain(self, action: DrainNodes) -> None:
        """Cordon all, then empty one after another, as kubectl does."""
        names = [node.metadata.name for node in self._chosen(action.nodes)]
        for name in names:
            await self._patch(name, {"spec": {"unschedulable": True}})
        self._begin(self._empty_all(names))

    async def _empty_all(self, names: Iterable[str]) -> None:
        for name in names:
            pods = [pod for pod in self._pods.by(BY_NODE, name) if _is_drained(pod)]
            self._tell_of(name, pods)
            await self._empty(pods)

    async def _empty(self, pods: Sequence[Pod]) -> None:
        """Ask for evictions, for refused ones again and again, until all pods are gone.

        kubectl asks for all at once, in no order; here they are asked for in the order of their names, so that who
        gets what a budget gives is the same in every run.
        """
        refused = list(pods)
        for polls in itertools.count():
            if polls % POLLS_PER_RETRY == 0:
                refused = [pod for pod in refused if self._is_there(pod) and not await self._is_granted(pod)]
            if not any(map(self._is_there, pods)):
                return
            await asyncio.sleep(GONE_POLL_SECONDS)

    async def _is_granted(self, pod: Pod) -> bool:
        """Whether the eviction need not be asked for again."""
        meta = pod.metadata
        try:
            await self._client.evict(meta.namespace, meta.name)
        except ApiError as error:
            if error.code == 429:
                told = "; ".join(cause.message for cause in error.causes) or error.message
                self.notes[f"drain waits: {told}"] = None
                return False
            if error.code != 404:
                self.notes[f"drain: {meta.key} cannot be evicted: {error.message}"] = None
        return True

    def _is_there(self, pod: Pod) -> bool:
        found = self._pods.get(pod.metadata.key)
        return found is not None and found.metadata.uid == pod.metadata.uid

    def _has_local_data(self, pod: Pod) -> bool:
        stored = self._plane.cache.collection("pods").get(pod.metadata.key)
        volumes = stored.document().get("spec", {}).get("volumes") or () if stored is not None else ()
        return any("emptyDir" in volume for volume in volumes)

    def _tell_of(self, node: str, pods: Sequence[Pod]) -> None:
        alone = [pod.metadata.key for pod in pods if controller_of(pod.metadata) is None]
        local = [pod.metadata.key for pod in pods if self._has_local_data(pod)]
        for found, flag, words_ in (
            (alone, "--force", "made by nobody, gone for good"),
            (local, "--delete-emptydir-data", "local data is lost"),
        ):
            if found:
                more = f" and {len(found) - NAMES_MAX} more" if len(found) > NAMES_MAX else ""
                listed = ", ".join(found[:NAMES_MAX])
                self.notes[f"drain of {node} needs {flag}: {listed}{more} ({words_})"] = None

    def _begin(self, work: Any) -> None:  # a coroutine
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault = task.exception()

    async def _patch(self, node: str, body: Document) -> None:
        await self._client.patch(Patch(resource="nodes", name=node, body=body, type=PatchType.MERGE))


def words(action: PlanAction) -> str:
    """An action as people would say it.

    >>> words(LoseNodes(nodes=NodeChoice(zone="a"), seconds=90.0))
    'lose zone a for 1m30s'
    """
    match action:
        case TaintNodes(change=change):
            added = [str(taint) for taint in change.additions]
            removed = [f"{taint}-" for taint in change.removals]
            return f"taint {_choice_words(action.nodes)} {' '.join((*added, *removed))}"
        case DrainNodes():
            return f"drain {_choice_words(action.nodes)}"
        case LoseNodes(seconds=seconds):
            span = f" for {format_duration(seconds)}" if seconds is not None else ""
            return f"lose {_choice_words(action.nodes)}{span}"
        case ApplyObjects(objects=objects):
            return f"apply {len(objects)} object{'' if len(objects) == 1 else 's'}"
        case _:
            assert_never(action)


def _choice_words(choice: NodeChoice) -> str:
    if choice.names:
        shown = ", ".join(choice.names[:NAMES_MAX])
        return shown if len(choice.names) <= NAMES_MAX else f"{shown} and {len(choice.names) - NAMES_MAX} more"
    if choice.zone:
        return f"zone {choice.zone}"
    return f"nodes with {choice.selector}" if choice.selector else "all nodes"


def _is_drained(pod: Pod) -> bool:
    """Not those of a DaemonSet, which come back at once, nor static ones, which nobody but their node can end."""
    owner = controller_of(pod.metadata)
    is_daemon = owner is not None and owner.kind == "DaemonSet" and not pod.is_finished
    return not is_daemon and MIRROR_POD_ANNOTATION not in pod.metadata.annotations


def _taint_document(taint: Taint) -> dict[str, str]:
    fields = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: value for name, value in fields.items() if value or name in ("key", "effect")}
