"""What the processes that run controllers have in common: informers over HTTP and a manager that feeds from them."""

import socket
from collections.abc import Iterable, Mapping, Sequence

from doorman.api.scheme import builtin_scheme
from doorman.attached.component_process import ComponentParts
from doorman.attached.serving_port import Check
from doorman.base.histograms import MetricsSource
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.unseen_writes import RemoteExecutor
from doorman.client.recorder import REMOTE_QUEUE_EVENTS_MAX
from doorman.runtime.controller_manager import ControllerManager
from doorman.runtime.informer_indexes import indexed_cache
from doorman.runtime.metrics.component_metrics import controller_source


class ManagedComponent:
    def __init__(
        self,
        around: ComponentParts,
        *,
        selectors: Mapping[str, Mapping[str, str]] | None = None,
        documents: Sequence[str] = (),
        optional: Sequence[str] = (),
    ) -> None:
        """`selectors` say which objects of a kind are followed, `documents` of which kinds they are kept whole; who may
        not read `optional` kinds goes without.
        """
        self._around = around
        self._scheme = builtin_scheme()
        kinds = self._scheme.kinds
        requests = around.requests.variant(qps=0.0)
        self.informers = HttpInformers(
            requests,
            kinds,
            around.clock,
            around.faults,
            indexed_cache,
            selectors=selectors or {},
            documents=documents,
            optional=optional,
        )
        self._manager = ControllerManager(
            self.informers,
            kinds,
            around.clock,
            around.faults,
            host=socket.gethostname(),
            events_max=REMOTE_QUEUE_EVENTS_MAX,
            new_executor=lambda client, recorder, renewer: RemoteExecutor(
                client, recorder, renewer, self.informers.seen
            ),
        )

    @property
    def checks(self) -> Mapping[str, Check]:
        return {}

    @property
    def sources(self) -> Iterable[MetricsSource]:
        return (controller_source(self._manager.runners),)

    async def resign(self) -> None:
        for runner in list(self._manager.runners):
            self._manager.leave(runner)
