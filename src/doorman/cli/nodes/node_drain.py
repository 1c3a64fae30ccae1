"""How a node is emptied, as kubectl drain does it: pods are asked to go until they may, and waited for until gone."""

import time
from collections.abc import Callable, Sequence
from typing import Final

import click
import msgspec

from doorman.base.clock import spent
from doorman.base.errors import ApiError
from doorman.base.instants import from_time
from doorman.cli.nodes.drain_decisions import DrainOptions, decide_departure
from doorman.client.command_line.http_client import HttpClient

REFUSED_RETRY_SECONDS: Final = 5.0
GONE_RETRY_SECONDS: Final = 1.0
DRY_RUNS: Final = {"none": "", "client": " (dry run)", "server": " (server dry run)"}

PodKey = tuple[str, str]
"""Namespace and name."""


class DrainFailed(Exception):
    """What kept a node from being emptied, each thing a text; `pods` are still there."""

    def __init__(self, reasons: Sequence[str], pods: Sequence[PodKey] = ()) -> None:
        texts = list(dict.fromkeys(reasons))
        super().__init__(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        self.pods = tuple(pods)


class DrainManner(msgspec.Struct, frozen=True, kw_only=True):
    """How pods are made to go."""

    options: DrainOptions
    pod_selector: str = ""
    grace_period: int = -1
    timeout_seconds: float = 0.0
    timeout_text: str = ""
    deletes: bool = False
    skip_after_seconds: int = 0
    dry_run: str = "none"


class NodeDrain:
    """The draining of nodes, one after the other: they share the time."""

    def __init__(self, client: HttpClient, manner: DrainManner, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._manner = manner
        self._sleep = sleep
        self._ends = spent() + manner.timeout_seconds if manner.timeout_seconds else float("inf")

    def drain(self, node: str) -> None:
        """Raises DrainFailed and ApiError."""
        manner = self._manner
        query = {"fieldSelector": f"spec.nodeName={node}", "labelSelector": manner.pod_selector}
        listed = self._client.request("GET", "/api/v1/pods", query={name: text for name, text in query.items() if text})
        pods = [pod for pod in listed["items"] if not self._is_long_gone(pod)]
        departure = decide_departure(pods, manner.options)
        if departure.obstacles:
            raise DrainFailed(departure.obstacles)
        for warning in departure.warnings:
            click.echo(f"Warning: {warning}", err=True)
        verb = "deleting" if manner.deletes else "evicting"
        for namespace, name in departure.pods:
            click.echo(f"{verb} pod {namespace}/{name}{DRY_RUNS[manner.dry_run]}")
        if manner.dry_run == "none":
            self._empty(departure.pods)

    def _empty(self, pods: Sequence[PodKey]) -> None:
        waiting, leaving = list(pods), list[PodKey]()
        while waiting or leaving:
            refused = [pod for pod in waiting if not self._ask(*pod)]
            leaving += [pod for pod in waiting if pod not in refused]
            waiting = refused
            gone = [pod for pod in leaving if not self._is_there(*pod)]
            for _, name in gone:
                click.echo(f"pod/{name} {'deleted' if self._manner.deletes else 'evicted'}")
            leaving = [pod for pod in leaving if pod not in gone]
            if (waiting or leaving) and spent() >= self._ends:
                raise DrainFailed([*map(self._refused, waiting), *map(self._lingers, leaving)], [*waiting, *leaving])
            if waiting or leaving:
                wait = REFUSED_RETRY_SECONDS if waiting and not leaving else GONE_RETRY_SECONDS
                self._sleep(max(0.0, min(wait, self._ends - spent())))

    def _refused(self, pod: PodKey) -> str:
        return f'error when evicting pods/"{pod[1]}" -n "{pod[0]}": {self._late}'

    def _lingers(self, pod: PodKey) -> str:
        return f'error when waiting for pod "{pod[1]}" in namespace "{pod[0]}" to terminate: {self._late}'

    @property
    def _late(self) -> str:
        return f"global timeout reached: {self._manner.timeout_text}"

    def _ask(self, namespace: str, name: str) -> bool:
        """False: a budget does not allow it now."""
        grace = self._manner.grace_period
        options = {"gracePeriodSeconds": grace} if grace >= 0 else {}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        try:
            if self._manner.deletes:
                self._client.request("DELETE", path, body=options)
            else:
                self._client.request("POST", f"{path}/eviction", body=body)
        except ApiError as error:
            if error.code == 429:
                text = f'error when evicting pods/"{name}" -n "{namespace}" (will retry after 5s): {error}'
                click.echo(text, err=True)
                return False
            if error.code != 404:
                raise
        return True

    def _is_there(self, namespace: str, name: str) -> bool:
        try:
            self._client.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    def _is_long_gone(self, pod: dict[str, dict[str, str]]) -> bool:
        """It was deleted so long ago that nobody waits for it (`--skip-wait-for-delete-timeout`)."""
        after, deleted = self._manner.skip_after_seconds, pod["metadata"].get("deletionTimestamp")
        return bool(after and deleted and self._client.now() - from_time(deleted) > after)
