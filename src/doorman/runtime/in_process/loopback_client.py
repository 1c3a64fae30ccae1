"""The client in process: the same registry and rules as over HTTP, without the bytes in between."""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self, TypeVar

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.machinery.conversion import to_stored
from doorman.api.patch.managed_fields import Manager
from doorman.api.raw_members import RAW_MEMBERS, canonical, replaced
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError, timeout
from doorman.base.json_types import Document
from doorman.client.actions import Bind, Create, Delete, Patch, PatchType, Update
from doorman.registry.cache.stored_object import Stored
from doorman.registry.caller import Caller
from doorman.registry.clean_documents import Body, clean_object
from doorman.registry.deletion import DeleteOptions, Preconditions
from doorman.registry.kinds.scale import scale_part, with_scale
from doorman.registry.patch_transforms import ApplyPlan, PatchBody, transform_of
from doorman.registry.pod_operations import PodOperations
from doorman.registry.registry import Registry
from doorman.registry.write_target import WriteTarget
from doorman.runtime.in_process.component_requests import ComponentRequests, GrantedRequest, request_info
from doorman.server.auth.escalation import EscalationGuard
from doorman.server.request_deadlines import Deadlines

T = TypeVar("T")

LED_SECONDS_MAX: Final = 5.0
"""How much longer a lease lasts than its holder may begin to write under it."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class LoopbackClient:
    """Acts as one user, under one field manager's name."""

    def __init__(
        self,
        registry: Registry,
        pods: PodOperations,
        requests: ComponentRequests,
        guard: EscalationGuard,
        clock: Clock,
        user: User,
        manager: str,
    ) -> None:
        self._registry = registry
        self._pods = pods
        self._requests = requests
        self._guard = guard
        self._clock = clock
        self._caller = Caller(user=user, manager=manager)
        self._may_act: Callable[[], bool] | None = None
        self._led = Deadlines(LED_SECONDS_MAX)

    def only_while(self, may_act: Callable[[], bool] | None) -> Self:
        """A copy, which writes only as long as whoever acts may: it holds a lease, or did before it slept."""
        other = copy.copy(self)
        other._may_act = may_act
        return other

    async def _request(self, granted: GrantedRequest, work: Awaitable[T]) -> T:
        return await self._requests.counted(granted, work if self._may_act is None else self._while_it_leads(work))

    async def _while_it_leads(self, work: Awaitable[T]) -> T:
        """For as long only as nobody else can have taken the lease: what is written later, by a store that did not
        answer before, would be written beside another's writes.
        """
        deadline = self._led.begin()
        try:
            return await work
        except asyncio.CancelledError:
            if deadline.timeout_error() is None:
                raise
            raise timeout("request did not complete within the allotted timeout") from None
        finally:
            deadline.end()

    @property
    def user(self) -> User:
        return self._caller.user

    def count_renewals(self, times: int, seconds: float) -> None:
        """Leases that were renewed together are requests of their nodes, each."""
        kind = self._registry.kinds.named(LEASES)
        self._requests.count(request_info("update", kind, NODE_LEASE_NAMESPACE, "-", ""), seconds, times)

    async def create(self, action: Create) -> Stored:
        kind = self._registry.kinds.named(action.resource)
        granted = self._authorize("create", kind, action.namespace)
        return await self._request(granted, self._create(kind, action))

    async def _create(self, kind: Kind, action: Create) -> Stored:
        if action.is_given_away:
            action.body.pop("kind", None)
            action.body.pop("apiVersion", None)
            doc = to_stored(kind.conversion, action.body)
        else:
            # The registry changes what it is given, and a controller's body shares lists with its template.
            body = _decode(_encode(action.body))
            doc = clean_object(self._registry.schema, kind, body, Body(body), "Ignore", [])
        if kind.storage in RAW_MEMBERS:
            doc = replaced(kind.storage, doc, canonical)
        if self._guard.is_about(kind):
            self._guard.check(kind, action.namespace, doc, None, self._caller.user)
        return await self._registry.create(
            kind, action.namespace, doc, self._caller, is_waited_for=action.is_waited_for
        )

    async def update(self, action: Update) -> Stored:
        kind = self._registry.kinds.named(action.resource)
        granted = self._authorize("update", kind, action.namespace, action.name, action.subresource)
        return await self._request(granted, self._update(kind, action))

    async def _update(self, kind: Kind, action: Update) -> Stored:
        doc = clean_object(self._registry.schema, kind, action.body, Body(action.body), "Ignore", [])
        transform = self._guard.on(kind, action.namespace, lambda _: doc, self._caller.user)
        target = WriteTarget(kind, action.namespace, action.name, action.subresource)
        is_unconditional = bool(action.subresource)
        return (await self._registry.update(target, transform, self._caller, is_unconditional=is_unconditional)).stored

    async def patch(self, action: Patch) -> Stored:
        kind = self._registry.kinds.named(action.resource)
        granted = self._authorize("patch", kind, action.namespace, action.name, action.subresource)
        return await self._request(granted, self._patch(kind, action))

    async def _patch(self, kind: Kind, action: Patch) -> Stored:
        if action.subresource == "scale":
            return await self._scale(kind, action)
        is_apply = action.type is PatchType.APPLY
        caller = self._applying(action.manager) if is_apply else self._caller
        target = WriteTarget(kind, action.namespace, action.name, action.subresource)
        stored = await self._registry.short_patches.write(
            target, action.type, action.body, caller, is_waited_for=action.is_waited_for
        )
        if stored is not None:
            return stored
        patch = PatchBody(type=str(action.type), body=Body(action.body))
        if is_apply:
            plan = self._apply_plan(kind, patch, caller.manager, action.name, subresource=action.subresource)
            return (await self._registry.update(target, lambda live: plan.on(live, self._clock.now()), caller)).stored
        transform = transform_of(self._registry.schema, kind, patch, "Ignore", [], is_components=True)
        transform = self._guard.on(kind, action.namespace, transform, caller.user)
        return (await self._registry.update(target, transform, caller)).stored

    def _applying(self, manager: str) -> Caller:
        return msgspec.structs.replace(self._caller, is_apply=True, manager=manager or self._caller.manager)

    async def _scale(self, kind: Kind, action: Patch) -> Stored:
        """The replicas of a workload, and nothing else of it."""
        target = WriteTarget(kind, action.namespace, action.name, part=scale_part(kind))

        def scaled(workload: Document) -> Document:
            return with_scale(workload, action.body, kind.scale)

        return (await self._registry.update(target, scaled, self._caller)).stored

    async def apply(self, kind: Kind, namespace: str, doc: Document, now: Instant) -> Stored:
        """Server-side apply that takes fields over from other managers; what is not there is created."""
        name = doc["metadata"]["name"]
        granted = self._authorize("patch", kind, namespace, name)
        patch = PatchBody(type=str(PatchType.APPLY), body=Body(doc))
        plan = self._apply_plan(kind, patch, self._caller.manager, name, validation="Strict")

        async def created() -> Document:
            self._authorize("create", kind, namespace)
            return plan.on(None, now)

        def merged(live: Document) -> Document:
            return plan.on(live, now)

        caller = msgspec.structs.replace(self._caller, is_apply=True)
        transform = self._guard.on(kind, namespace, merged, caller.user)
        work = self._registry.update(WriteTarget(kind, namespace, name), transform, caller, create=created)
        return (await self._request(granted, work)).stored

    def _apply_plan(
        self,
        kind: Kind,
        patch: PatchBody,
        manager: str,
        name: str,
        *,
        subresource: str = "",
        validation: str = "Ignore",
    ) -> ApplyPlan:
        return ApplyPlan(
            self._registry.schema,
            self._registry.kinds,
            kind,
            patch,
            Manager(name=manager, operation="Apply", api_version=kind.group_version, subresource=subresource),
            force=True,
            name=name,
            validation=validation,
            warnings=[],
        )

    async def evict(self, namespace: str, name: str) -> None:
        """As `kubectl drain` asks for it: a budget may refuse with 429."""
        granted = self._authorize("create", self._registry.kinds.named("pods"), namespace, name, "eviction")
        eviction: Document = {"metadata": {"name": name, "namespace": namespace}}
        await self._request(granted, self._pods.evict(namespace, name, eviction, self._caller))

    async def delete(self, action: Delete) -> None:
        kind = self._registry.kinds.named(action.resource)
        granted = self._authorize("delete", kind, action.namespace, action.name)
        if action.status_patch is None:
            await self._request(granted, self._delete(kind, action))
            return
        patched = self._requests.authorize("patch", kind, action.namespace, action.name, "status")
        await self._requests.counted(patched, self._request(granted, self._delete(kind, action)))

    async def _delete(self, kind: Kind, action: Delete) -> None:
        preconditions = Preconditions(uid=action.uid or None, resource_version=action.resource_version or None)
        options = DeleteOptions(
            grace_period_seconds=action.grace_seconds,
            preconditions=preconditions,
            propagation_policy=action.propagation or None,
        )
        target = WriteTarget(kind, action.namespace, action.name)
        patch = action.patch_before()
        if patch is not None:
            # Before each of the two writes: when the first is answered another may hold the lease.
            deleted = await self._registry.delete_reported(
                target, patch.body, options, self._caller, self._check_may_act
            )
            if deleted is not None:
                return
            await self._patch(kind, patch)
            self._check_may_act()
        await self._registry.delete(target, options, self._caller, is_marked_first=False)

    async def bind(self, action: Bind) -> None:
        granted = self._authorize(
            "create", self._registry.kinds.named("pods"), action.namespace, action.name, "binding"
        )
        binding: dict[str, Any] = {
            "metadata": {"name": action.name, "namespace": action.namespace, "uid": action.uid},
            "target": {"kind": "Node", "name": action.node},
        }
        work = self._pods.bind(action.namespace, action.name, binding, self._caller)
        await self._request(granted, work)

    def _authorize(
        self, verb: str, kind: Kind, namespace: str, name: str = "", subresource: str = ""
    ) -> GrantedRequest:
        """What is asked, if it may be."""
        self._check_may_act()
        return self._requests.authorize(verb, kind, namespace, name, subresource)

    def _check_may_act(self) -> None:
        if self._may_act is not None and not self._may_act():
            raise ApiError(500, "", "leader election lost")
