"""The controllers as a process of their own: `doorman controllers`."""

import logging
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from doorman.api.scheme import builtin_scheme
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.well_known import KUBE_CONTROLLER_MANAGER, SYSTEM_NAMESPACE
from doorman.attached.access.access_check import (
    Needed,
    Right,
    in_order,
    rights_of_election,
    rights_of_informers,
    rights_of_rules,
)
from doorman.attached.access.access_reviews import AccessReviews
from doorman.attached.access.account_tokens import AccountCredentials
from doorman.attached.component_process import ComponentParts
from doorman.attached.component_settings import ComponentSettings, ElectionSettings
from doorman.attached.custom_rows import row_of
from doorman.attached.managed_component import ManagedComponent
from doorman.attached.quota_totals import WEIGHED, QuotaTotals
from doorman.attached.serving_port import Configuration
from doorman.client.controller_contract import Controller, ObjectChange
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.remote_client import SENT_WHOLE, RemoteClient
from doorman.controllers.certificates.certificate_signer import NAME as SIGNING
from doorman.controllers.certificates.root_ca import NAME as ROOT_CA_PUBLISHER
from doorman.runtime.controller_context import ControllerContext
from doorman.runtime.controller_registry import ServiceAccountUser, managed_controllers
from doorman.runtime.defaults.role_table import controller_rules
from doorman.runtime.settings import Settings

_ACCOUNTS: Final = ("serviceaccounts", "serviceaccounts/token")

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


class ControllersComponent(ManagedComponent):
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
        super().__init__(around, documents=(*WEIGHED, *(resource for resource, _ in SENT_WHOLE)))
        self._component = component
        self._uses_accounts = uses_accounts
        self._wanted = settings.controllers
        settings = msgspec.structs.replace(settings, controllers=(*files.without(), *settings.controllers))
        context = ControllerContext(
            informers=self.informers,
            kinds=self._scheme.kinds,
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
        self._controllers: list[tuple[Controller, ServiceAccountUser]] = list(managed_controllers(context))
        for controller, _ in self._controllers:
            for source in controller.sources:
                self.informers.of(source.resource)
        self.informers.of(DEFINITIONS).listen(self._definition_changed, "custom-kinds")

    @property
    def configuration(self) -> Configuration:
        return {"kubecontrollermanager.config.k8s.io": {"controllers": list(self._wanted)}}

    def needed(self, election: ElectionSettings) -> Iterable[Needed]:
        base = self._around.requests.variant(qps=0.0)
        own = [*rights_of_informers(self.informers), *rights_of_election(election)]
        accounts = sorted({account.user.rpartition(":")[2] for _, account in self._controllers})
        rules = {account: tuple(rights_of_rules(controller_rules(account))) for account in accounts}
        if not self._uses_accounts:
            own += [right for rights in rules.values() for right in rights]
            yield Needed("controllers", base, in_order(own))
            return
        own += [Right("", resource, "create", "", SYSTEM_NAMESPACE) for resource in _ACCOUNTS]
        yield Needed("controllers", base, in_order(own))
        for account, rights in rules.items():
            requests = base.variant(credentials=AccountCredentials(base, account, self._around.clock))
            yield Needed(account, requests, in_order(rights))

    async def lead(self, may_act: Callable[[], bool]) -> None:
        for controller, account in self._controllers:
            self._manager.join(controller, self._client_of(account, may_act))

    def _client_of(self, account: ServiceAccountUser, may_act: Callable[[], bool]) -> RemoteClient:
        """Each controller has a limit of its own."""
        base = self._around.requests
        own = base.variant(qps=self._component.qps, burst=self._component.burst)
        if self._uses_accounts:
            name = account.user.rpartition(":")[2]
            own = own.variant(credentials=AccountCredentials(base.variant(qps=0.0), name, self._around.clock))
        return RemoteClient(own.only_while(may_act), self._scheme, KUBE_CONTROLLER_MANAGER, self.informers.document)

    def _definition_changed(self, change: ObjectChange) -> None:
        row = row_of(change.new) if change.new is not None else None
        if row is not None and self._scheme.kinds.find(row.group_resource) is None:
            self._scheme.kinds.replace(row.group_resource, (row,))
            _log.info("%s is followed", row.group_resource)
            self._manager.follow_kind(row.group_resource)
