"""The controllers as a process of their own: `doorman controllers`."""

import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from doorman.api.scheme import builtin_scheme
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.well_known import KUBE_CONTROLLER_MANAGER
from doorman.attached.access_reviews import AccessReviews
from doorman.attached.account_tokens import AccountCredentials
from doorman.attached.component_process import ComponentParts
from doorman.attached.component_settings import ComponentSettings
from doorman.attached.custom_rows import row_of
from doorman.attached.quota_totals import WEIGHED, QuotaTotals
from doorman.attached.serving_port import Check, MetricsSource
from doorman.client.controller_contract import Controller, ObjectChange
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.remote_client import SENT_WHOLE, RemoteClient
from doorman.client.http.unseen_writes import RemoteExecutor
from doorman.client.recorder import REMOTE_QUEUE_EVENTS_MAX
from doorman.controllers.certificates.certificate_signer import NAME as SIGNING
from doorman.controllers.certificates.root_ca import NAME as ROOT_CA_PUBLISHER
from doorman.runtime.components.component_metrics import controller_source
from doorman.runtime.components.informer_indexes import indexed_cache
from doorman.runtime.controller_manager import ControllerManager
from doorman.runtime.controller_registry import Account, Parts, managed_controllers
from doorman.runtime.settings import Settings

_log: Final = logging.getLogger("doorman.controllers")


class ControllerFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What some controllers need besides; empty: those do not run."""

    root_ca: bytes = b""
    signing_certificate: bytes = b""
    signing_key: bytes = b""

    def without(self) -> tuple[str, ...]:
        """Controllers to leave out for want of them, as `--controllers` says it."""
        found = [] if self.root_ca else [f"-{ROOT_CA_PUBLISHER}"]
        return tuple(found if self.signing_key else [*found, f"-{SIGNING}"])


def controllers_client(requests: ApiRequests) -> RemoteClient:
    return RemoteClient(requests, builtin_scheme(), KUBE_CONTROLLER_MANAGER)


class ControllersComponent:
    def __init__(
        self,
        around: ComponentParts,
        component: ComponentSettings,
        settings: Settings,
        files: ControllerFiles,
        *,
        uses_accounts: bool,
    ) -> None:
        """`uses_accounts`: each controller acts as its own service account."""
        self._around = around
        self._component = component
        self._uses_accounts = uses_accounts
        self._scheme = builtin_scheme()
        kinds = self._scheme.kinds
        self.informers = HttpInformers(
            around.requests.variant(qps=0.0),
            kinds,
            around.clock,
            around.faults,
            indexed_cache,
            documents=(*WEIGHED, *(resource for resource, _ in SENT_WHOLE)),
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
        settings = msgspec.structs.replace(settings, controllers=(*files.without(), *settings.controllers))
        parts = Parts(
            informers=self.informers,
            kinds=kinds,
            settings=settings,
            ca_certificate=files.root_ca,
            ca_key=files.signing_key,
            signing_certificate=files.signing_certificate,
            authorize=AccessReviews(component).authorize,
            total_of=QuotaTotals(self.informers).total_of,
            instances=lambda _: (),
            own_service={},
            now=around.clock.now,
        )
        self._controllers: list[tuple[Controller, Account]] = list(managed_controllers(parts))
        for controller, _ in self._controllers:
            for source in controller.sources:
                self.informers.of(source.resource)
        self.informers.of(DEFINITIONS).listen(self._definition_changed, "custom-kinds")

    @property
    def checks(self) -> Mapping[str, Check]:
        return {}

    @property
    def sources(self) -> Iterable[MetricsSource]:
        return (controller_source(self._manager.runners),)

    async def lead(self, may_act: Callable[[], bool]) -> None:
        for controller, account in self._controllers:
            self._manager.join(controller, self._client_of(account, may_act))

    async def resign(self) -> None:
        for runner in list(self._manager.runners):
            self._manager.leave(runner)

    def _client_of(self, account: Account, may_act: Callable[[], bool]) -> RemoteClient:
        """Each controller has a limit of its own."""
        base = self._around.requests
        own = base.variant(qps=self._component.qps, burst=self._component.burst)
        if self._uses_accounts:
            name = account.user.rpartition(":")[2]
            own = own.variant(credentials=AccountCredentials(base.variant(qps=0.0), name, self._around.clock))
        return RemoteClient(own.while_(may_act), self._scheme, KUBE_CONTROLLER_MANAGER, self.informers.document)

    def _definition_changed(self, change: ObjectChange) -> None:
        row = row_of(change.new) if change.new is not None else None
        if row is not None and self._scheme.kinds.find(row.group_resource) is None:
            self._scheme.kinds.replace(row.group_resource, (row,))
            _log.info("%s is followed", row.group_resource)
            self._manager.follow_kind(row.group_resource)
