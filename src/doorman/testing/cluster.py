"""A cluster for tests: real API server, scheduler, controllers and simulated nodes, and a clock that the test moves."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from doorman.base.clock import VIRTUAL_START
from doorman.base.durations import format_duration, parse_duration
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.command_line.manifests import ManifestError, apply_manifest, parse_manifests
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource, find_resource
from doorman.client.command_line.taint_patch import changed_taints, patch_taints
from doorman.nodes.node_commands import cut_off, not_ready, recover
from doorman.nodes.node_orders import Order, chosen_nodes, give_order
from doorman.plan.plan_options import PlanOptions
from doorman.plan.planner import plan
from doorman.runtime.clock.quiet_time import QUIET_SECONDS
from doorman.semantics.taints.taint_spec import check_conflicts, parse_taint_change
from doorman.testing.cluster_settings import Nodes, cluster_settings
from doorman.testing.hosted_plane import HostedControlPlane
from doorman.testing.loop_thread import LoopThread
from doorman.testing.pipeline_client import PipelineClient
from doorman.testing.planned_steps import planned_steps
from doorman.testing.wait_conditions import parse_wait

Manifests = str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""A file, a folder, a text, an object or several."""
Span = str | float
"""Of cluster time: `5m`, or seconds."""


class Cluster:
    """Use it in a `with` statement. Methods may be called from any thread, and wait until they are done.

    What is written has had all its consequences of that instant when a method returns; what takes time needs
    `advance` or `run_until`. Errors of the API are raised as `ApiError`, whose `status()` is Kubernetes' Status.
    """

    def __init__(
        self,
        nodes: Nodes = 3,
        *,
        zones: Sequence[str] = (),
        start: datetime | None = None,
        seed: int | None = 0,
        **flags: object,
    ) -> None:
        """`nodes`: how many, or their names, or profiles as in `--nodes-config`; `zones` are given to them in turn.

        `flags` are those of `doorman up`: `Cluster(node_monitor_grace_period="20s", eviction_respect_pdb=True)`.
        The clock begins at `start`, 2026-01-01 in UTC unless told. One seed and one test give one run.
        """
        if start is not None and start.tzinfo is None:
            raise ValueError("start needs a time zone; hint: datetime(..., tzinfo=UTC)")
        self._settings = cluster_settings(nodes, zones, seed, flags)
        self._start = start.timestamp() if start is not None else VIRTUAL_START
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._thread: LoopThread
        self._plane: HostedControlPlane
        self._client: PipelineClient

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """What `with` does: for frameworks with a set-up and a tear-down."""
        self._thread = LoopThread()
        try:
            self._plane = self._thread.call(self._started())
        except BaseException:
            self._thread.stop()
            raise
        self._client = PipelineClient(self._thread, self._plane.pipeline, self._plane.credentials.admin_token)

    def stop(self) -> None:
        try:
            self._thread.call(self._plane.stop())
        finally:
            self._thread.stop()
            if self._folder is not None:
                self._folder.cleanup()

    # Time

    @property
    def now(self) -> datetime:
        """What the cluster's clock shows."""
        return datetime.fromtimestamp(self._plane.clock.now(), UTC)

    @property
    def elapsed(self) -> float:
        """Seconds of cluster time since the start."""
        return round(self._plane.clock.now() - self._start, 6)

    def advance(self, span: Span) -> None:
        """Let so much time pass, and everything happen that it brings."""
        seconds = _seconds(span)
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {span}")
        self._thread.call(self._plane.driver.move_to(self._plane.clock.now() + seconds))

    def run_until(self, what: Callable[[], object] | str, condition: str = "", *, timeout: Span = "1h") -> None:
        """Let time pass until something holds, and not a moment longer. Raises TimeoutError.

        `what` is a function without arguments, or an object as kubectl names it, with a condition of kubectl wait:
        `run_until("pod/web", "condition=Ready")`, `"delete"`, `"jsonpath={.status.phase}=Running"`.
        """
        holds = self._condition(what, condition) if isinstance(what, str) else what
        limit = self._plane.clock.now() + _seconds(timeout)
        while not holds():
            if self._plane.clock.now() >= limit:
                told = f"{what} {condition}" if isinstance(what, str) else "the condition"
                raise TimeoutError(f"{told}: not within {format_duration(_seconds(timeout))} of cluster time")
            self._thread.call(self._plane.driver.step(limit))

    def run_until_idle(self, *, quiet: Span = QUIET_SECONDS, timeout: Span = "24h") -> None:
        """Until nothing has changed for so long and nothing is waited for any more. Raises TimeoutError."""
        limit, seconds = self._plane.clock.now() + _seconds(timeout), _seconds(quiet)
        if not self._thread.call(self._plane.driver.move_until(lambda: self._plane.quiet.is_idle(seconds), limit)):
            raise TimeoutError(f"still not idle after {format_duration(_seconds(timeout))} of cluster time")

    # Objects

    def request(self, method: str, path: str, body: object = None, **query: str) -> Any:  # the answer, parsed
        """Any request of the API: `request("GET", "/api/v1/nodes", labelSelector="disk=ssd")`."""
        answer = self._client.request(method, path, query=query, body=body)
        self._settle()
        return answer

    def apply(self, manifests: Manifests) -> list[Document]:
        """Server-side apply of a file, a folder, a text in YAML or JSON, an object or several. Gives what is stored."""
        applied = [apply_manifest(self._client, dict(one), force=True).after for one in _manifests(manifests)]
        self._settle()
        return applied

    def get(self, kind: str, name: str = "", namespace: str = "default") -> Any:  # a document, or a list of them
        """One object (`get("pod", "web")`, `get("pod/web")`), or all of a kind in a namespace without a name."""
        kind, _, rest = kind.partition("/")
        name = name or rest
        resource = self._resource(kind)
        if name:
            return self._client.request("GET", resource.path(namespace, name))
        return self._list(resource, namespace)

    def pods(self, namespace: str | None = None, *, selector: str = "", node: str = "") -> list[Document]:
        """Of all namespaces, or of one; with these labels; on that node."""
        return self._list(
            self._resource("pods"), namespace or "", selector=selector, fields=f"spec.nodeName={node}" if node else ""
        )

    def nodes(self, *, selector: str = "") -> list[Document]:
        return self._list(self._resource("nodes"), "", selector=selector)

    def events(self, about: str = "", *, namespace: str | None = None, reason: str = "") -> list[Document]:
        """In the order in which they came; `about` is a name or `pod/name`."""
        kind, _, name = about.rpartition("/")
        wanted = {
            "involvedObject.name": name,
            "involvedObject.kind": self._resource(kind).kind if kind else "",
            "reason": reason,
        }
        fields = ",".join(f"{field}={value}" for field, value in wanted.items() if value)
        found = self._list(self._resource("events"), namespace or "", fields=fields)
        return sorted(found, key=lambda event: event["metadata"]["creationTimestamp"])

    def delete(self, kind: str, name: str = "", namespace: str = "default", *, grace_period: int | None = None) -> None:
        """`delete("pod", "web")` or `delete("pod/web")`."""
        kind, _, rest = kind.partition("/")
        options: Document = {"propagationPolicy": "Background"}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        if not (name or rest):
            raise ValueError('which one? hint: delete("pod", "web")')
        self._client.request("DELETE", self._resource(kind).path(namespace, name or rest), body=options)
        self._settle()

    # Nodes

    def taint(self, nodes: str | Iterable[str], *taints: str, overwrite: bool = False) -> None:
        """As `kubectl taint nodes NODE… TAINT…`: `key=value:Effect` adds, `key:Effect-` or `key-` removes.

        Raises ValueError with kubectl's words.
        """
        change = parse_taint_change(taints)
        check_conflicts(change)
        for name in _names(nodes):
            node = self._client.request("GET", f"/api/v1/nodes/{name}")
            patch_taints(self._client, node, change, changed_taints(node, change, overwrite=overwrite))
        self._settle()

    def fail(
        self, node: str | Iterable[str] = (), *, zone: str = "", selector: str = "", not_ready: bool = False
    ) -> list[str]:
        """Cut nodes off, or have them say that they are not ready. Gives their names."""
        return self._order(node, zone, selector, _not_ready if not_ready else lambda _: cut_off())

    def recover(self, node: str | Iterable[str] = (), *, zone: str = "", selector: str = "") -> list[str]:
        """Whatever was ordered is over."""
        return self._order(node, zone, selector, lambda _: recover())

    # What if

    def plan(
        self,
        verb: str,
        *arguments: str,
        manifests: Manifests = (),
        zone: str = "",
        selector: str = "",
        span: str = "",
        overwrite: bool = False,
        horizon: Span = "1h",
    ) -> Document:
        """What would happen, without it happening: the document that `doorman plan -o json` prints.

        `plan("taint", "node-1", "k=v:NoExecute")`, `plan("drain", "node-1")`, `plan("lose", zone="b", span="10m")`,
        `plan("apply", manifests="deploy/")`. The copy has this cluster's settings. Raises PlanError and ValueError.
        """
        options = {"zone": zone, "selector": selector, "span": span, "overwrite": overwrite}
        steps = planned_steps(verb, arguments, _manifests(manifests) if manifests else (), options)
        settings = PlanOptions(settings=self._settings, horizon_seconds=_seconds(horizon))
        made: Document = msgspec.to_builtins(plan(self._thread.call(self._plane.captured()), steps, settings))
        return made

    # Operators under test

    @property
    def kubeconfig(self) -> Path:
        """Of a real HTTPS endpoint of the same cluster and clock, which serves from when this is first asked for."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="doorman-")
        return self._thread.call(self._plane.serve(Path(self._folder.name)))

    # Its own

    async def _started(self) -> HostedControlPlane:
        plane = HostedControlPlane(self._settings, self._start, self._thread.loop)
        await plane.start()
        return plane

    def _settle(self) -> None:
        self._thread.call(self._plane.driver.settle())

    def _order(self, node: str | Iterable[str], zone: str, selector: str, order: Order) -> list[str]:
        names = chosen_nodes(self._client, _names(node), selector=selector, zone=zone)
        for name in names:
            give_order(self._client, name, order)
        self._settle()
        return names

    def _resource(self, kind: str) -> ServedResource:
        try:
            return find_resource(self._client, kind)
        except NoSuchResource as error:
            raise ValueError(str(error)) from None

    def _list(
        self, resource: ServedResource, namespace: str, *, selector: str = "", fields: str = ""
    ) -> list[Document]:
        query = {"labelSelector": selector, "fieldSelector": fields}
        chosen = {name: value for name, value in query.items() if value}
        items = self._client.request("GET", resource.path(namespace), query=chosen)["items"]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]

    def _condition(self, what: str, condition: str) -> Callable[[], bool]:
        holds = parse_wait(condition)
        kind, slash, name = what.rpartition("/")
        namespace, _, kind = kind.rpartition("/")
        if not slash or not kind or not name:
            raise ValueError(f'want KIND/NAME or NAMESPACE/KIND/NAME, for example "pod/web": {what}')
        path = self._resource(kind).path(namespace or "default", name)

        def look() -> bool:
            try:
                return holds(self._client.request("GET", path))
            except ApiError as error:
                if error.code != 404:
                    raise
                return holds(None)

        return look


_not_ready = not_ready


def _seconds(span: Span) -> float:
    return parse_duration(span) if isinstance(span, str) else float(span)


def _names(nodes: str | Iterable[str]) -> list[str]:
    return [nodes] if isinstance(nodes, str) else list(nodes)


def _manifests(given: Manifests) -> Iterable[Mapping[str, Any]]:
    if isinstance(given, Mapping):
        return given["items"] if str(given.get("kind", "")).endswith("List") and "items" in given else [given]
    if not isinstance(given, str | Path):
        return given
    if isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{")):
        return parse_manifests(given, "the text")
    path = Path(given)
    files = (
        sorted(one for one in path.iterdir() if one.suffix in (".yaml", ".yml", ".json")) if path.is_dir() else [path]
    )
    found = [manifest for file in files for manifest in parse_manifests(file.read_text(), str(file))]
    if not found:
        raise ManifestError(f"{given} holds no objects", "is it a manifest?")
    return found
