"""The scheduler as a process of its own: `doorman scheduler`."""

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from doorman.api.scheme import builtin_scheme
from doorman.api.views.storage.csi import ATTACHMENTS
from doorman.api.well_known import KUBE_SCHEDULER
from doorman.attached.access.access_check import (
    Needed,
    in_order,
    rights_of_election,
    rights_of_informers,
    rights_of_rules,
)
from doorman.attached.component_process import ComponentParts
from doorman.attached.component_settings import ElectionSettings
from doorman.attached.serving_port import Check, Configuration
from doorman.base.gates import FeatureGates
from doorman.base.histograms import MetricsSource
from doorman.base.json_types import Document
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.remote_client import RemoteClient
from doorman.client.recorder import REMOTE_QUEUE_EVENTS_MAX, EventRecorder
from doorman.runtime.defaults.role_table import role_rules
from doorman.runtime.informer_indexes import indexed_cache
from doorman.runtime.metrics.component_metrics import scheduler_source
from doorman.runtime.scheduling.extender_client import ExtenderCaller
from doorman.runtime.scheduling.scheduler_runner import SCHEDULED_BY, SchedulerRunner
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.devices.device_state import DEVICE_KINDS, DeviceGates
from doorman.scheduler.out_of_tree_plugins import find_plugins
from doorman.scheduler.scheduler import Scheduler

OPTIONAL: Final = (*DEVICE_KINDS, ATTACHMENTS)
UNFINISHED: Final = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}


def scheduler_client(requests: ApiRequests) -> RemoteClient:
    return RemoteClient(requests, builtin_scheme(), KUBE_SCHEDULER)


class SchedulerComponent:
    def __init__(self, around: ComponentParts, config: SchedulerConfig, gates: FeatureGates) -> None:
        self._around = around
        self._config = config
        self._gates = gates
        self._scheme = builtin_scheme()
        self.informers = HttpInformers(
            around.requests,
            self._scheme.kinds,
            around.clock,
            around.faults,
            indexed_cache,
            selectors={"pods": UNFINISHED},
            optional=OPTIONAL,
            documents=("pods", "nodes") if config.extenders else (),
        )
        for resource in SCHEDULED_BY:
            self.informers.of(resource)
        self._runner: SchedulerRunner | None = None
        self._extenders: ExtenderCaller | None = None

    @property
    def checks(self) -> Mapping[str, Check]:
        return {"sched-handler-sync": lambda: not self.informers.missing}

    @property
    def sources(self) -> Iterable[MetricsSource]:
        return (scheduler_source(lambda: self._runner),)

    @property
    def configuration(self) -> Configuration:
        config = self._config
        own = {
            "parallelism": config.parallelism,
            "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
            "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
            "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
            "profiles": [{"schedulerName": profile.name} for profile in config.profiles],
        }
        return {"kubescheduler.config.k8s.io": own}

    def needed(self, election: ElectionSettings) -> Iterable[Needed]:
        rights = (
            *rights_of_rules(role_rules("system:kube-scheduler")),
            *rights_of_informers(self.informers, OPTIONAL),
            *rights_of_election(election),
        )
        own = [right for right in rights if right.group != "scheduling.k8s.io"]
        yield Needed("scheduler", self._around.requests.variant(qps=0.0), in_order(own))

    async def lead(self, may_act: Callable[[], bool]) -> None:
        around = self._around
        client = RemoteClient(around.requests.only_while(may_act), self._scheme, KUBE_SCHEDULER)
        host = socket.gethostname()
        scheduler = Scheduler(
            self._config,
            comparison_operators=self._gates.comparison_operators,
            hostname=host,
            plugins=find_plugins(),
            stopwatch=time.perf_counter,
            faults=around.faults,
            device_gates=DeviceGates(taints=self._gates.device_taints, rules=self._gates.device_taint_rules),
        )
        extenders = self._config.extenders
        self._extenders = ExtenderCaller(self._newest, scheduler.pod_on) if extenders else None
        self._runner = SchedulerRunner(
            scheduler,
            client,
            EventRecorder(client, around.clock, host=host, faults=around.faults, queue_max=REMOTE_QUEUE_EVENTS_MAX),
            around.clock,
            time.perf_counter,
            extenders=extenders,
            caller=self._extenders,
        )
        for resource in SCHEDULED_BY:
            informer = self.informers.of(resource)
            informer.listen(self._runner.changed, "scheduler")
            informer.announce("scheduler")

    async def resign(self) -> None:
        for informer in self.informers.all():
            informer.forget("scheduler")
        if self._runner is not None:
            self._runner.stop()
        if self._extenders is not None:
            await self._extenders.close()

    def _newest(self, resource: str, namespace: str, name: str) -> Document | None:
        documents = self.informers.of(resource).documents or {}
        found = documents.get(f"{namespace}/{name}" if namespace else name)
        return msgspec.json.decode(found) if found is not None else None
