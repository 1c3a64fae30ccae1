"""The verbs on resources: from a request that has been let in to an answer."""

import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.patch.managed_fields import Manager
from doorman.base.clock import Clock
from doorman.base.errors import (
    ApiError,
    bad_request,
    method_not_allowed,
    no_such_resource,
)
from doorman.base.json_types import Document, Transform
from doorman.base.loop_turns import in_turn
from doorman.registry.cache.stored_object import Stored
from doorman.registry.caller import Caller
from doorman.registry.clean_documents import Body
from doorman.registry.kinds.scale import SCALE, applied_replicas, check_scale, scale_part, to_scale, with_scale
from doorman.registry.object_identity import (
    check_name,
    check_place,
    check_unborn,
    drop_repeated_owners,
    settle_namespace,
)
from doorman.registry.patch_transforms import ApplyPlan, PatchBody, checked_config, tell_duplicates, transform_of
from doorman.registry.pod_operations import PodOperations
from doorman.registry.registry import Registry
from doorman.registry.write_target import WriteTarget
from doorman.server.auth_services import ACCESS_GROUPS, AuthServices
from doorman.server.codec.decoding import decode_object, decode_posted, field_validation
from doorman.server.codec.list_bodies import ListPage
from doorman.server.codec.patch_bodies import patch_type_of, read_patch
from doorman.server.codec.rendering import Renderer
from doorman.server.listing import is_selected, list_page, parse_list_options, parse_revision, parse_selection, too_new
from doorman.server.request import Response
from doorman.server.request_context import (
    RequestContext,
    caller_of,
    check_scope,
    check_verb,
    delete_options_of,
    weight_of,
)
from doorman.server.subresources.container_streams import CONTAINER_SUBRESOURCES, ContainerStreams
from doorman.server.subresources.pod_logs import LogsOf
from doorman.server.watching import Watch
from doorman.validation.pods.binding import check_binding

_OBJECT_SUBRESOURCES: Final = ("status", "finalize", "ephemeralcontainers", "resize", "approval")


Compute = Callable[[str, str, User], Document]
"""From a namespace, a name and who asks to an object that is not stored but made when asked for.

Asked for a list the name is empty and the answer has `items`.
"""


class ResourceHandlers:
    def __init__(
        self,
        registry: Registry,
        access: AuthServices,
        computed: Mapping[str, Compute],
        clock: Clock,
        rng: random.Random,
        logs_of: LogsOf,
    ) -> None:
        self._computed = computed
        self._registry = registry
        self._access = access
        self._clock = clock
        self._rng = rng
        self._pods = PodOperations(registry, clock)
        self._containers = ContainerStreams(registry, logs_of, clock)

    async def handle(self, call: RequestContext, renderer: Renderer) -> Response:
        info = call.info
        check_scope(call)
        if info.subresource:
            return await self._subresource(call, renderer)
        check_verb(call)
        match info.verb:
            case "get":
                return await self._get(call, renderer)
            case "list":
                return await self._list(call, renderer)
            case "watch":
                return self._watch(call, renderer)
            case "create":
                return await self._create(call, renderer)
            case "update":
                return await self._replace(call, renderer)
            case "patch":
                return await self._patch(call, renderer)
            case "delete":
                return await self._delete(call, renderer)
            case "deletecollection":
                return await self._delete_collection(call, renderer)
        raise method_not_allowed()

    # Reading

    async def _get(self, call: RequestContext, renderer: Renderer) -> Response:
        info = call.info
        if call.request.query.flag("watch"):
            return self._watch(call, renderer)
        if call.request.query.flag("export"):
            raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
        compute = self._computed.get(call.kind.group_resource)
        if compute is not None:
            return renderer.computed(call.kind, compute(info.namespace, info.name, call.user))
        revision, current = parse_revision(call.request.query.get("resourceVersion")), self._registry.cache.revision
        if revision > current:
            raise too_new(revision, current)
        return await self._one(call.kind, self._registry.get(call.kind, info.namespace, info.name), renderer)

    async def _list(self, call: RequestContext, renderer: Renderer) -> Response:
        compute = self._computed.get(call.kind.group_resource)
        if compute is not None:
            selection = parse_selection(call.kind, call.info.namespace, call.request.query)
            items = compute(call.info.namespace, "", call.user)["items"]
            return renderer.documents(call.kind, [item for item in items if is_selected(item, selection)])
        options = parse_list_options(call.kind, call.info.namespace, call.request.query)
        return await self._page(call.kind, await list_page(self._registry, call.kind, options), renderer)

    async def _one(self, kind: Kind, stored: Stored, renderer: Renderer, status: int = 200) -> Response:
        if kind.is_custom:
            (stored,) = await self._registry.versions.shown(kind, [stored])
        return renderer.one(kind, stored, status=status)

    async def _page(self, kind: Kind, page: ListPage, renderer: Renderer) -> Response:
        if kind.is_custom:
            page = msgspec.structs.replace(page, items=await self._registry.versions.shown(kind, page.items))
        return renderer.page(kind, page)

    def _watch(self, call: RequestContext, renderer: Renderer) -> Response:
        info, query = call.info, call.request.query
        return Response(stream=Watch(self._registry, call.kind, info.namespace, info.name, query, renderer, self._rng))

    # Writing

    async def _create(self, call: RequestContext, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        caller = caller_of(call, "CreateOptions")
        if kind.resource == "bindings":
            return await self._bind(call, renderer)
        known = await self._registry.create_again(kind, info.namespace, caller)
        if known is not None:
            return renderer.one(kind, known, status=201)
        doc = await self._decode(call, "CreateOptions")
        if kind.group in ACCESS_GROUPS:
            if self._access.reviews.is_about(kind):
                return self._review(call, doc, caller, renderer)
            self._access.prepare(kind, info.namespace, doc, call.user)
        stored = await self._registry.create(kind, info.namespace, doc, caller)
        return await self._one(kind, stored, renderer, 201)

    def _review(self, call: RequestContext, doc: Document, caller: Caller, renderer: Renderer) -> Response:
        drop_repeated_owners(doc.setdefault("metadata", {}), call.warnings)
        answer = self._access.reviews.answer(call.kind, call.info.namespace, doc, call.user)
        answer["metadata"] |= self._registry.proposer.owners(call.kind, doc, caller)
        self._registry.schema.complete(answer, call.kind.type_name)
        return renderer.document(answer, status=201)

    async def _replace(self, call: RequestContext, renderer: Renderer, *, subresource: str = "") -> Response:
        info, kind = call.info, call.kind
        caller = caller_of(call, "UpdateOptions")
        doc = await self._decode(call, "UpdateOptions")
        check_place(kind, info.namespace, info.name, doc.setdefault("metadata", {}))
        written = await self._registry.update(
            WriteTarget(kind, info.namespace, info.name, subresource),
            self._access.guard.on(kind, info.namespace, lambda _: doc, call.user),
            caller,
            create=self._created(call, lambda: doc) if kind.creates_on_update and not subresource else None,
            is_unconditional=False,
        )
        return await self._one(kind, written.stored, renderer, 201 if written.is_created else 200)

    async def _patch(self, call: RequestContext, renderer: Renderer, *, subresource: str = "") -> Response:
        info, kind, query = call.info, call.kind, call.request.query
        content_type = call.request.headers.get("content-type", "")
        weight = weight_of(call.request)
        patch_type = patch_type_of(kind, content_type)
        caller = caller_of(call, "PatchOptions", patch_type=patch_type)
        patch = await in_turn(weight, read_patch, patch_type, call.request.body)
        is_pure = not self._access.guard.is_about(kind)
        target = WriteTarget(kind, info.namespace, info.name, subresource)
        if patch.is_apply:
            if subresource:
                self._registry.get(kind, info.namespace, info.name)  # of what is not there nothing is read
            plan = await in_turn(weight, self._plan, call, patch, caller, subresource)
            written = await self._registry.update(
                target,
                self._access.guard.on(kind, info.namespace, plan, call.user),
                caller,
                create=None if subresource else self._created(call, lambda: plan(None)),
                is_pure=is_pure,
            )
        else:
            validation = field_validation(query, "PatchOptions")
            transform = transform_of(self._registry.schema, kind, patch, validation, call.warnings)
            transform = self._access.guard.on(kind, info.namespace, transform, call.user)
            written = await self._registry.update(target, transform, caller, is_pure=is_pure, is_unconditional=False)
        return await self._one(kind, written.stored, renderer, 201 if written.is_created else 200)

    def _plan(
        self, call: RequestContext, patch: PatchBody, caller: Caller, subresource: str
    ) -> Callable[[Document | None], Document]:
        """What a server-side apply makes of a live object, or of none."""
        manager = Manager(
            name=caller.manager, operation="Apply", api_version=call.kind.group_version, subresource=subresource
        )
        plan = ApplyPlan(
            self._registry.schema,
            self._registry.kinds,
            call.kind,
            patch,
            manager,
            force=call.request.query.flag("force"),
            name=call.info.name,
            validation=field_validation(call.request.query, "PatchOptions"),
            warnings=call.warnings,
        )
        return lambda live: plan.on(live, self._clock.now())

    def _created(self, call: RequestContext, make: Callable[[], Document]) -> Callable[[], Awaitable[Document]]:
        """The document of an object that a PUT or an apply creates, for whoever may: that takes the right to create."""
        info = call.info

        async def made() -> Document:
            self._access.guard.check_create(call.user, info)
            doc = await in_turn(weight_of(call.request), make)
            check_name(doc.get("metadata", {}), info.name)
            check_unborn(WriteTarget(call.kind, info.namespace, info.name), doc["metadata"])
            if self._access.guard.is_about(call.kind):
                self._access.guard.check(call.kind, info.namespace, doc, None, call.user)
            return doc

        return made

    async def _delete(self, call: RequestContext, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        options = await in_turn(weight_of(call.request), delete_options_of, call, self._registry.schema)
        caller = caller_of(call, "DeleteOptions", given=options)
        deleted = await self._registry.delete(WriteTarget(kind, info.namespace, info.name), options, caller)
        if kind.returns_deleted or not deleted.is_removed:
            return await self._one(kind, deleted.stored, renderer)
        metadata = deleted.stored.document()["metadata"]
        details = {"name": info.name, "group": kind.group, "kind": kind.resource, "uid": metadata.get("uid")}
        return renderer.document(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {name: value for name, value in details.items() if value},
            }
        )

    async def _delete_collection(self, call: RequestContext, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        options = await in_turn(weight_of(call.request), delete_options_of, call, self._registry.schema)
        page = await list_page(self._registry, kind, parse_list_options(kind, info.namespace, call.request.query))
        caller = caller_of(call, "DeleteOptions", given=options)
        for stored in page.items:
            try:
                await self._registry.delete(WriteTarget(kind, stored.namespace, stored.name), options, caller)
            except ApiError as error:
                if error.code != 404:
                    raise
        return await self._page(kind, page, renderer)

    # Subresources

    async def _subresource(self, call: RequestContext, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        row = kind.subresource(info.subresource)
        if row is None:
            raise no_such_resource()
        if info.subresource in CONTAINER_SUBRESOURCES:
            return self._containers.answer(call)
        if info.verb not in row.verbs:
            raise method_not_allowed()
        if info.subresource == "binding":
            return await self._bind(call, renderer)
        if info.subresource == "eviction":
            return await self._evict(call, renderer)
        if info.subresource == "scale":
            return await self._scale(call, renderer)
        if info.subresource == "token":
            body = await self._posted(call, "TokenRequest")
            caller = caller_of(call, "CreateOptions")
            answer = await self._access.token_requests.answer(info.namespace, info.name, body, caller)
            return renderer.document(answer, status=201)
        if info.subresource in _OBJECT_SUBRESOURCES:
            if info.verb != "get":
                self._access.certificate_requests.check_subresource(kind, info.name, info.subresource, call.user)
            match info.verb:
                case "get":
                    return await self._get(call, renderer)
                case "update":
                    return await self._replace(call, renderer, subresource=info.subresource)
                case "patch":
                    return await self._patch(call, renderer, subresource=info.subresource)
        raise no_such_resource()

    async def _bind(self, call: RequestContext, renderer: Renderer) -> Response:
        info = call.info
        binding = await self._posted(call, "Binding")
        name = info.name or binding.get("metadata", {}).get("name", "")
        if not name:
            check_binding(binding)  # what is wrong with the target is said first
            raise bad_request("Name parameter required.")
        answer = await self._pods.bind(info.namespace, name, binding, caller_of(call, "CreateOptions"))
        return renderer.document(answer, status=201)

    async def _evict(self, call: RequestContext, renderer: Renderer) -> Response:
        info = call.info
        eviction = await self._posted(call, "Eviction")
        answer = await self._pods.evict(info.namespace, info.name, eviction, caller_of(call, "CreateOptions"))
        return renderer.document(answer, status=201)

    async def _scale(self, call: RequestContext, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        if info.verb == "get":
            return await self._scale_of(kind, self._registry.get(kind, info.namespace, info.name), renderer)
        scaled = self._scaled_by_update if info.verb == "update" else self._scaled_by_patch
        caller, transform = await scaled(call)
        target = WriteTarget(kind, info.namespace, info.name, part=scale_part(kind))
        written = await self._registry.update(target, transform, caller)
        return await self._scale_of(kind, written.stored, renderer)

    async def _scaled_by_update(self, call: RequestContext) -> tuple[Caller, Transform]:
        caller = caller_of(call, "UpdateOptions")
        body = await self._posted(call, "Scale", "UpdateOptions")
        check_scale(body, call.info.namespace, call.info.name)
        return caller, lambda workload: with_scale(workload, body, call.kind.scale)

    async def _scaled_by_patch(self, call: RequestContext) -> tuple[Caller, Transform]:
        info, kind, schema = call.info, call.kind, self._registry.schema
        content_type, weight = call.request.headers.get("content-type", ""), weight_of(call.request)
        patch_type = patch_type_of(SCALE, content_type)
        caller = caller_of(call, "PatchOptions", patch_type=patch_type)
        patch = await in_turn(weight, read_patch, patch_type, call.request.body)
        validation = field_validation(call.request.query, "PatchOptions")
        if patch.is_apply:
            config = checked_config(schema, SCALE, patch)
            tell_duplicates(patch, validation, call.warnings)
            whole = PatchBody(type=patch.type, body=Body(applied_replicas(config, kind)))
            return caller, self._plan(call, whole, caller, "scale")
        patched = transform_of(schema, SCALE, patch, validation, call.warnings)

        def scaled(workload: Document) -> Document:
            scale = patched(to_scale(workload, kind.scale))
            check_scale(scale, info.namespace, info.name)
            return with_scale(workload, scale, kind.scale)

        return caller, scaled

    async def _scale_of(self, kind: Kind, stored: Stored, renderer: Renderer) -> Response:
        if kind.is_custom:
            (stored,) = await self._registry.versions.shown(kind, [stored])
        return renderer.computed(SCALE, to_scale(stored.document(), kind.scale))

    # Bodies and options

    async def _decode(self, call: RequestContext, options_kind: str) -> Document:
        request = call.request
        validation = field_validation(request.query, options_kind)
        content_type = request.headers.get("content-type", "")
        schema, weight = self._registry.schema, weight_of(request)
        return await in_turn(
            weight, decode_object, schema, call.kind, request.body, content_type, validation, call.warnings
        )

    async def _posted(self, call: RequestContext, kind: str, options_kind: str = "CreateOptions") -> Document:
        request, schema = call.request, self._registry.schema
        validation = field_validation(request.query, options_kind)
        content_type = request.headers.get("content-type", "")
        doc = await in_turn(
            weight_of(request),
            partial(decode_posted, is_custom=call.kind.is_custom),
            schema,
            kind,
            request.body,
            content_type,
            validation,
            call.warnings,
        )
        settle_namespace(call.kind, call.info.namespace, doc.setdefault("metadata", {}))
        return doc
