"""What a simulated container wrote: its log, made from the pod's status when somebody asks for it.

Rules
-----
1. A container of which nothing else is said tells what happens to it: that it starts, that nobody attaches to one that
   waits for it, each of its probes, the hook that runs before it stops, the signal that stops it, and the code with
   which it exits.
2. With the annotation `doorman.dev/logs` it writes that text instead: all at once when it starts, or, with
   `doorman.dev/log-interval`, a line at a time, from the beginning again after the last.
3. A readiness probe succeeds from when the container was ready on; other probes always do.
4. Which run is meant is decided as a kubelet does: the one that runs, else the last that has ended; `previous` asks for
   the one before.
5. A node that is cut off cannot be asked: the server says so, as it does of a kubelet that does not answer.
"""

from collections.abc import Iterator, Mapping
from math import ceil, inf
from typing import Any, Final

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.nodes.node_annotations import LOG_INTERVAL, LOGS, SILENT, seconds_or
from doorman.nodes.profile import node_ip
from doorman.semantics.pods.run_logs import LogLine, RepeatedLine, RunLog

PROBES: Final = (("startupProbe", "startup"), ("livenessProbe", "liveness"), ("readinessProbe", "readiness"))
PROBE_PERIOD_SECONDS: Final = 10
KUBELET_PORT: Final = 10250
STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_IMAGE_WAITS: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}

_JsonObject = Mapping[str, Any]  # JSON


def simulated_log(pod: _JsonObject, container: str, *, previous: bool) -> RunLog | str:
    """The log of a run, or what a kubelet says when there is none."""
    status = _named(pod.get("status") or {}, STATUSES, container)
    name = pod["metadata"]["name"]
    if not status:
        return f'container "{container}" in pod "{name}" is not available'
    state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
    if previous:
        if not last or not last.get("containerID"):
            return f'previous terminated container "{container}" in pod "{name}" not found'
        return _ended_log(pod, container, last, status.get("restartCount", 0) - 1)
    if state.get("running"):
        began = _instant(pod, state["running"].get("startedAt"))
        return _log(pod, container, began, None, restarts=status.get("restartCount", 0), code=None)
    ended = state.get("terminated") or last
    if ended:
        return _ended_log(pod, container, ended, status.get("restartCount", 0))
    if state.get("waiting"):
        reason = str(state["waiting"].get("reason", ""))
        why = _IMAGE_WAITS.get(reason, reason)
        return f'container "{container}" in pod "{name}" is waiting to start: {why}'
    return f'container "{container}" in pod "{name}" is waiting to start - no logs yet'


def is_cut_off(node: Node) -> bool:
    """Rule 5."""
    ready = node.status.condition("Ready")
    is_unheard_of = ready is not None and ready.status == "Unknown"
    return is_unheard_of or node.metadata.annotations.get(SILENT) == "true"


def unreachable(pod: _JsonObject, container: str) -> str:
    meta = pod["metadata"]
    address = f"{node_ip(pod['spec']['nodeName'])}:{KUBELET_PORT}"
    url = f"https://{address}/containerLogs/{meta['namespace']}/{meta['name']}/{container}"
    return f'Get "{url}": dial tcp {address}: i/o timeout'


def _ended_log(pod: _JsonObject, container: str, ended: _JsonObject, restarts: int) -> RunLog:
    began, finished = (_instant(pod, ended.get(time)) for time in ("startedAt", "finishedAt"))
    return _log(pod, container, began, finished, restarts=restarts, code=ended.get("exitCode", 0))


def _log(
    pod: _JsonObject, container: str, began: Instant, ended: Instant | None, *, restarts: int, code: int | None
) -> RunLog:
    annotations = pod["metadata"].get("annotations") or {}
    spec = _named(pod.get("spec") or {}, CONTAINERS, container)
    text = annotations.get(LOGS)
    if text is not None:
        return _text_log(text, seconds_or(annotations, LOG_INTERVAL, 0.0), began, ended)
    again = f", restart {restarts}" if restarts > 0 else ""
    start = LogLine(began, f"container {container} started, image {spec.get('image', '')}{again}")
    unread = [LogLine(began, "no input: nobody can attach to a simulated container")] if spec.get("stdinOnce") else []
    stop = _stop_lines(pod, spec, began) if ended is None else []
    exits = [LogLine(ended, f"exited with code {code}")] if ended is not None else []
    probed_before = stop[0].at if stop else (ended if ended is not None else inf)
    repeated = tuple(_probes(pod, container, spec, began, probed_before, is_running=ended is None))
    return RunLog(began=began, ended=ended, lines=(start, *unread, *stop, *exits), repeated=repeated)


def _text_log(text: str, interval: float, began: Instant, ended: Instant | None) -> RunLog:
    """Rule 2."""
    texts = tuple(text.splitlines())
    if interval > 0 and texts:
        repeated = (RepeatedLine(texts=texts, first=began, period_seconds=interval),)
        return RunLog(began=began, ended=ended, repeated=repeated)
    return RunLog(began=began, ended=ended, lines=tuple(LogLine(began, line) for line in texts))


def _stop_lines(pod: _JsonObject, spec: _JsonObject, began: Instant) -> list[LogLine]:
    """Of a container that runs in a pod that is deleted."""
    deleted = pod["metadata"].get("deletionTimestamp")
    if not deleted:
        return []
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    asked = max(began, from_time(deleted) - grace)
    sleep = (((spec.get("lifecycle") or {}).get("preStop") or {}).get("sleep") or {}).get("seconds", 0)
    if not sleep:
        return [LogLine(asked, "received SIGTERM")]
    hook = LogLine(asked, f"preStop hook: sleep {sleep}s")
    return [hook, LogLine(asked + min(sleep, grace), "received SIGTERM" if sleep < grace else "received SIGKILL")]


def _probes(
    pod: _JsonObject, container: str, spec: _JsonObject, began: Instant, before: Instant, *, is_running: bool
) -> Iterator[RepeatedLine]:
    """Rule 3."""
    ready_at = _ready_at(pod, container, began) if is_running else began
    for field, kind in PROBES:
        probe = spec.get(field)
        if not probe:
            continue
        text = f"{kind} probe {_probe_text(probe)}"
        period = float(probe.get("periodSeconds") or PROBE_PERIOD_SECONDS)
        first = began + (probe.get("initialDelaySeconds") or 0)
        if kind != "readiness":
            yield RepeatedLine(texts=(f"{text}: success",), first=first, period_seconds=period, before=before)
            continue
        failures = max(0, ceil((min(ready_at, before) - first) / period)) if ready_at < inf else 0
        yield RepeatedLine(
            texts=(f"{text}: failure",), first=first, period_seconds=period, before=min(ready_at, before)
        )
        if ready_at < inf:
            first += failures * period
            yield RepeatedLine(texts=(f"{text}: success",), first=first, period_seconds=period, before=before)


def _ready_at(pod: _JsonObject, container: str, began: Instant) -> Instant:
    """When a container that runs became ready; never, if it has not."""
    status = pod.get("status") or {}
    if not _named(status, STATUSES, container).get("ready"):
        return inf
    conditions = status.get("conditions") or ()
    ready: _JsonObject = next(
        (one for one in conditions if (one.get("type"), one.get("status")) == ("ContainersReady", "True")), {}
    )
    since = ready.get("lastTransitionTime")
    return max(began, from_time(since)) if since else began


def _probe_text(probe: _JsonObject) -> str:
    """As kubectl describes one.

    >>> _probe_text({"httpGet": {"path": "/healthz", "port": 8080}}), _probe_text({"exec": {"command": ["cat", "x"]}})
    ('http-get http://:8080/healthz', 'exec [cat x]')
    """
    if http := probe.get("httpGet"):
        path = http.get("path") or "/"
        return f"http-get {(http.get('scheme') or 'HTTP').lower()}://{http.get('host', '')}:{http.get('port')}{path}"
    if tcp := probe.get("tcpSocket"):
        return f"tcp-socket {tcp.get('host', '')}:{tcp.get('port')}"
    if grpc := probe.get("grpc"):
        return f"grpc <pod>:{grpc.get('port')} {grpc.get('service') or ''}".rstrip()
    return f"exec [{' '.join((probe.get('exec') or {}).get('command') or ())}]"


def _instant(pod: _JsonObject, text: str | None) -> Instant:
    """Of a status that somebody else may have written, without a time: since the pod is there."""
    return from_time(text or pod["metadata"]["creationTimestamp"])


def _named(holder: _JsonObject, lists: tuple[str, ...], name: str) -> dict[str, Any]:  # JSON
    return next((one for each in lists for one in holder.get(each) or () if one["name"] == name), {})
