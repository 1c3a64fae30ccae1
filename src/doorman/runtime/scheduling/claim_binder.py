"""Writes what the scheduler has decided about claims: before a pod is bound, and back when it could not be.

In this order, as kube-scheduler does it: a claim for extended resources is created; the finalizer is added, so that the
claim outlives its use; the allocation and the reservation are written together; the pod is told of a claim that was
made for it. A claim that somebody has allocated or deleted meanwhile is left alone, and the pod is tried again.

Nobody waits for any of these writes: the binding follows, becomes durable after them, and is waited for.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from doorman.api.views.meta import to_view
from doorman.api.views.pods import Pod
from doorman.api.views.resource.resource_claims import CLAIMS, EXTENDED_RESOURCE_ANNOTATION, FINALIZER, ResourceClaim
from doorman.base.clock import Clock, sleep
from doorman.base.errors import ApiError
from doorman.base.instants import to_time
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.client.client import Client
from doorman.scheduler.devices.claim_binding import ClaimBinding
from doorman.scheduler.outcomes import Placed
from doorman.semantics.devices.binding_conditions import BindingFailed, is_ready
from doorman.semantics.devices.pod_claims import consumer_of

_log: Final = logging.getLogger("doorman.scheduler")

BINDING_POLL_SECONDS: Final = 5.0

ClaimOf = Callable[[str], ResourceClaim | None]
"""The claim of that key, as it was last seen."""


class ClaimTaken(Exception):
    """The claim is not what it was when the scheduler decided; the text is Kubernetes' own."""


class ClaimBinder:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._made: dict[str, ResourceClaim] = {}
        """Claims created for pods that are being bound, by the pods' uids."""

    async def bind(self, placed: Placed) -> str:
        """Write all claims of the pod. What went wrong, if anything did."""
        for binding in placed.claims:
            try:
                await self._bind_one(placed.pod, binding)
            except (ApiError, ClaimTaken) as error:
                text = error.message if isinstance(error, ApiError) else str(error)
                return f'running PreBind plugin "DynamicResources": {text}'
        return ""

    async def wait_for_devices(self, placed: Placed, claim_of: ClaimOf) -> str:
        """Until the devices are ready that must be made so. What went wrong, if anything did: then the claim is freed,
        so that the next attempt may take other devices.
        """
        ends = self._clock.now() + placed.claims[0].timeout_seconds  # one plugin gave them all
        keys = [binding.claim.metadata.key for binding in placed.claims if binding.manifest is None]
        while True:
            claims = [claim for claim in map(claim_of, keys) if claim is not None]
            waiting = None
            for claim in claims:
                try:
                    waiting = waiting if is_ready(claim) else claim
                except BindingFailed as error:
                    await self.give_up(claim)
                    return f'running PreBind plugin "DynamicResources": {error}'
            if waiting is None and len(claims) == len(keys):
                return ""
            if self._clock.now() >= ends:
                if waiting is not None:
                    await self.give_up(waiting)
                name = waiting.metadata.name if waiting is not None else ""
                return f'running PreBind plugin "DynamicResources": device binding timeout: claim={name}'
            await sleep(self._clock, BINDING_POLL_SECONDS)

    async def give_back(self, placed: Placed) -> None:
        """The pod is not bound after all: it uses its claims no longer."""
        made = self._made.pop(placed.pod.metadata.uid, None)
        if made is not None:
            await self._remove(made)
        uid = placed.pod.metadata.uid
        for binding in placed.claims:
            if binding.manifest is None:
                body = {"status": {"reservedFor": [{"$patch": "delete", "uid": uid}]}}
                await self._patch_quietly(binding.claim, body)

    async def give_up(self, claim: ResourceClaim) -> None:
        """What the claim was given is free again. One that was made for extended resources goes altogether."""
        if claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true":
            await self._remove(claim)
            return
        body = {"status": {"allocation": None, "reservedFor": None, "devices": None}}
        await self._patch_quietly(claim, body, type_=PatchType.MERGE)

    async def _bind_one(self, pod: Pod, binding: ClaimBinding) -> None:
        claim = binding.claim
        if binding.manifest is not None:
            claim = await self._create(pod, binding.manifest)
        body: dict[str, Any] = {"status": {"reservedFor": [consumer_of(pod)]}}
        if binding.allocation is not None:
            # Also when it is there already: the answer shows what the claim is by now.
            protected = {"metadata": {"finalizers": [FINALIZER]}}
            seen = await self._patch(claim, protected, subresource="", is_waited_for=False)
            _check_unchanged(seen)
            stamp = to_time(self._clock.now())
            body["status"]["allocation"] = {**binding.allocation, "allocationTimestamp": stamp}
            body["metadata"] = {"resourceVersion": seen.metadata.resource_version}
        await self._patch(claim, body, is_waited_for=False)
        if binding.mappings:
            told = {"requestMappings": list(binding.mappings), "resourceClaimName": claim.metadata.name}
            body = {"metadata": {"uid": pod.metadata.uid}, "status": {"extendedResourceClaimStatus": told}}
            meta = pod.metadata
            await self._client.patch(
                Patch(
                    resource="pods", namespace=meta.namespace, name=meta.name, subresource="status", body=body,
                    is_waited_for=False,
                )
            )  # fmt: skip
        self._made.pop(pod.metadata.uid, None)

    async def _create(self, pod: Pod, manifest: Mapping[str, Any]) -> ResourceClaim:
        namespace = pod.metadata.namespace
        # Put together for this pod alone.
        stored = await self._client.create(
            Create(resource=CLAIMS, namespace=namespace, body=dict(manifest), is_given_away=True, is_waited_for=False)
        )
        claim = _claim_in(stored)
        self._made[pod.metadata.uid] = claim
        return claim

    async def _remove(self, claim: ResourceClaim) -> None:
        meta = claim.metadata
        await self._patch_quietly(
            claim, {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}, subresource=""
        )
        try:
            await self._client.delete(Delete(resource=CLAIMS, namespace=meta.namespace, name=meta.name, uid=meta.uid))
        except ApiError as error:
            _log.info("claim %s could not be deleted: %s", meta.key, error)

    async def _patch_quietly(
        self,
        claim: ResourceClaim,
        body: dict[str, Any],
        *,
        subresource: str = "status",
        type_: PatchType = PatchType.STRATEGIC,
    ) -> None:
        try:
            await self._patch(claim, body, subresource=subresource, type_=type_)
        except ApiError as error:
            _log.info("claim %s could not be patched: %s", claim.metadata.key, error)

    async def _patch(
        self,
        claim: ResourceClaim,
        body: dict[str, Any],
        *,
        subresource: str = "status",
        type_: PatchType = PatchType.STRATEGIC,
        is_waited_for: bool = True,
    ) -> ResourceClaim:
        meta = claim.metadata
        metadata = {**body.get("metadata", {}), "uid": meta.uid}
        stored = await self._client.patch(
            Patch(
                resource=CLAIMS,
                namespace=meta.namespace,
                name=meta.name,
                subresource=subresource,
                body={**body, "metadata": metadata},
                type=type_,
                is_waited_for=is_waited_for,
            )
        )
        return _claim_in(stored)


def _check_unchanged(claim: ResourceClaim) -> None:
    """Raises ClaimTaken."""
    if claim.metadata.deletion_timestamp:
        raise ClaimTaken(f"claim {claim.metadata.key} got deleted in the meantime")
    if claim.status.allocation is not None:
        raise ClaimTaken(f"claim {claim.metadata.key} got allocated elsewhere in the meantime")


def _claim_in(answer: Any) -> ResourceClaim:  # what a client answers to a write
    """In process an answer brings its view; over HTTP it is a document."""
    return to_view(answer, ResourceClaim) if isinstance(answer, dict) else answer.view
