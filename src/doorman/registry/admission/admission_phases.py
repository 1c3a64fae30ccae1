"""Admission of a write: the chain of plugins, and whoever else is asked over the network."""

from doorman.admission.chain import Chain
from doorman.admission.plugin_contract import Attributes, ClusterReader, Operation
from doorman.admission.policies.policy_params import prepare_all_params
from doorman.admission.request_versions import prepare
from doorman.admission.webhooks.webhook_dispatch import Webhooks
from doorman.api.views.admissionregistration import BINDINGS
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.base.loop_turns import in_slices
from doorman.registry.admission.admission_reader import AdmissionReader
from doorman.registry.admission.admission_versions import EquivalentResourceMapper
from doorman.registry.caller import Caller
from doorman.registry.write_target import WriteTarget


class AdmissionPhases:
    def __init__(
        self, chain: Chain, webhooks: Webhooks, cluster: AdmissionReader, mapper: EquivalentResourceMapper
    ) -> None:
        self._chain = chain
        self._webhooks = webhooks
        self._cluster = cluster
        self._mapper = mapper

    def attributes(
        self,
        target: WriteTarget,
        caller: Caller,
        operation: Operation,
        obj: Document | None,
        old: Document | None,
    ) -> Attributes:
        kind, subresource = target.kind, target.endpoint
        named = self._mapper.of(kind, subresource)
        return Attributes(
            operation=operation,
            group=kind.group,
            version=kind.version,
            kind=named.kind,
            kind_version=named.kind_version,
            equivalents=named.equivalents,
            resource=kind.resource,
            subresource=subresource,
            namespace=target.namespace,
            name=target.name or (obj or {}).get("metadata", {}).get("name", ""),
            user=caller.user,
            manager=caller.manager,
            dry_run=caller.dry_run,
            warnings=caller.warnings if caller.warnings is not None else [],
            options=caller.options,
            annotations=caller.annotations if caller.annotations is not None else {},
            obj=obj,
            old=old,
        )

    def is_remote(self, attributes: Attributes) -> bool:
        """Whether anybody is to be asked over the network."""
        return self._webhooks.is_wanted(attributes, self._cluster)

    def mutate(self, attributes: Attributes, now: Instant, cluster: ClusterReader | None = None) -> None:
        self._chain.admit(attributes, cluster or self._cluster, now)

    async def mutate_remotely(self, attributes: Attributes) -> bool:
        """Whether anybody changed the object."""
        return await self._webhooks.mutate(attributes, self._cluster)

    async def validate(
        self, attributes: Attributes, now: Instant, *, is_remote: bool, cluster: ClusterReader | None = None
    ) -> None:
        """Whether anybody objects to what is to be stored."""
        if self._cluster.list(BINDINGS):
            await prepare_all_params(attributes, self._cluster)
            if attributes.equivalents is not None:
                await prepare(attributes)
            await in_slices(self._chain.validate, attributes, cluster or self._cluster, now)
        else:
            self._chain.validate(attributes, cluster or self._cluster, now)
        if is_remote:
            await self._webhooks.validate(attributes, self._cluster)

    def limit(self, attributes: Attributes, now: Instant, cluster: ClusterReader | None = None) -> None:
        """Whether there is room for it. Last: nobody is waited for between this and the write."""
        attributes.quota_used = {}
        self._chain.limit(attributes, cluster or self._cluster, now)

    async def admit(self, attributes: Attributes, now: Instant) -> None:
        """All of it, for what has no validation in between: an object posted to a subresource, a deletion."""
        self.mutate(attributes, now)
        is_remote = self.is_remote(attributes)
        if is_remote:
            await self.mutate_remotely(attributes)
        await self.validate(attributes, now, is_remote=is_remote)
