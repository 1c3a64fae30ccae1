"""The verbs on resources: from a request that has been let in to an answer."""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.managed import Manager
from doorman.api.schema import DecodeError, Document
from doorman.base.clock import Clock
from doorman.base.errors import (
    ApiError,
    FieldError,
    bad_request,
    forbidden,
    invalid,
    invalid_object,
    method_not_allowed,
    no_such_resource,
    not_supported,
    required,
    too_long,
)
from doorman.registry.deletion import DeleteOptions
from doorman.registry.naming import check_name
from doorman.registry.proposal import Caller
from doorman.registry.registry import Registry
from doorman.registry.stored import Stored
from doorman.server.access import Access
from doorman.server.bodies import BodyError, read_body
from doorman.server.decoding import decode_object, field_validation
from doorman.server.listing import Page, list_page, parse_list_options, parse_revision, too_new
from doorman.server.patching import APPLY, ApplyPlan, read_patch, transform_of
from doorman.server.pods import PodOperations
from doorman.server.rendering import Renderer
from doorman.server.request import Query, Request, RequestInfo, Response
from doorman.server.scale import to_scale, with_scale
from doorman.server.watching import Watch

MANAGER_BYTES_MAX: Final = 128
_ON_COLLECTIONS: Final = ("create", "list", "watch", "deletecollection")
_OBJECT_SUBRESOURCES: Final = ("status", "finalize", "ephemeralcontainers", "resize", "approval")
_NO_RUNTIME: Final = {
    "log": "there is no container runtime behind this server, so there are no logs",
    "exec": "exec is not supported by this server: its nodes run pods in name only",
    "attach": "attach is not supported by this server: its nodes run pods in name only",
    "portforward": "port forwarding is not supported by this server: its nodes run pods in name only",
    "proxy": "proxying is not supported by this server: its nodes run pods in name only",
}


Compute = Callable[[str, str, User], Document]
"""From a namespace, a name and who asks to an object that is not stored but made when asked for.

Asked for a list the name is empty and the answer has `items`.
"""


class Call(msgspec.Struct, kw_only=True):
    """A request on its way: who, what, and what to warn about."""

    request: Request
    info: RequestInfo
    user: User
    kind: Kind
    warnings: list[str] = []
    annotations: dict[str, str] | None = None
    """What the audit log is to be told; None: there is none."""


class ResourceHandlers:
    def __init__(
        self, registry: Registry, access: Access, computed: Mapping[str, Compute], clock: Clock, rng: random.Random
    ) -> None:
        self._computed = computed
        self._registry = registry
        self._access = access
        self._clock = clock
        self._rng = rng
        self._pods = PodOperations(registry, clock)

    async def handle(self, call: Call, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        if info.subresource:
            return await self._subresource(call, renderer)
        if kind.namespaced and not info.namespace and info.verb not in ("list", "watch"):
            raise method_not_allowed()
        is_old_watch = info.verb == "watch" and bool(info.name)  # the prefix /watch/ takes a name too
        if info.verb not in kind.verbs or (bool(info.name) is (info.verb in _ON_COLLECTIONS) and not is_old_watch):
            raise method_not_allowed()
        if info.verb == "watch" and call.request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
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

    async def _get(self, call: Call, renderer: Renderer) -> Response:
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

    async def _list(self, call: Call, renderer: Renderer) -> Response:
        compute = self._computed.get(call.kind.group_resource)
        if compute is not None:
            return renderer.documents(call.kind, compute(call.info.namespace, "", call.user)["items"])
        options = parse_list_options(call.kind, call.info.namespace, call.request.query)
        return await self._page(call.kind, list_page(self._registry, call.kind, options), renderer)

    async def _one(self, kind: Kind, stored: Stored, renderer: Renderer, status: int = 200) -> Response:
        if kind.is_custom:
            (stored,) = await self._registry.versions.shown(kind, [stored])
        return renderer.one(kind, stored, status=status)

    async def _page(self, kind: Kind, page: Page, renderer: Renderer) -> Response:
        if kind.is_custom:
            page = msgspec.structs.replace(page, items=await self._registry.versions.shown(kind, page.items))
        return renderer.page(kind, page)

    def _watch(self, call: Call, renderer: Renderer) -> Response:
        info = call.info
        watch = Watch(self._registry, call.kind, info.namespace, info.name, call.request.query, renderer, self._rng)
        return Response(stream=watch)

    # Writing

    async def _create(self, call: Call, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        caller = self._caller(call, "CreateOptions")
        if kind.resource == "bindings":
            return await self._bind(call, renderer)
        doc = self._decode(call, "CreateOptions")
        if self._access.reviews.is_about(kind):
            answer = self._access.reviews.answer(kind, info.namespace, doc, call.user)
            return renderer.document(answer, status=201)
        if self._access.guard.is_about(kind):
            self._access.guard.check(kind, info.namespace, doc, None, call.user)
        self._access.certificate_requests.prepare(kind, doc, call.user)
        stored = await self._registry.create(kind, info.namespace, doc, caller)
        return await self._one(kind, stored, renderer, 201)

    async def _replace(self, call: Call, renderer: Renderer, *, subresource: str = "") -> Response:
        info, kind = call.info, call.kind
        caller = self._caller(call, "UpdateOptions")
        doc = self._decode(call, "UpdateOptions")
        written = await self._registry.update(
            kind,
            info.namespace,
            info.name,
            self._access.guard.on(kind, info.namespace, lambda _: doc, call.user),
            caller,
            subresource=subresource,
            create=self._created(call, lambda: doc) if kind.creates_on_update and not subresource else None,
            is_unconditional=bool(subresource),
        )
        return await self._one(kind, written.stored, renderer, 201 if written.is_created else 200)

    async def _patch(self, call: Call, renderer: Renderer, *, subresource: str = "") -> Response:
        info, kind, query = call.info, call.kind, call.request.query
        patch = read_patch(kind, call.request.body, call.request.headers.get("content-type", ""))
        caller = self._caller(call, "PatchOptions", patch_type=patch.type)
        if patch.is_apply:
            manager = Manager(
                name=caller.manager, operation="Apply", api_version=kind.group_version, subresource=subresource
            )
            plan = ApplyPlan(
                self._registry.schema,
                self._registry.kinds,
                kind,
                patch,
                manager,
                force=query.flag("force"),
                namespace=info.namespace,
                name=info.name,
            )
            written = await self._registry.update(
                kind,
                info.namespace,
                info.name,
                self._access.guard.on(kind, info.namespace, lambda live: plan.on(live, self._clock.now()), call.user),
                caller,
                subresource=subresource,
                create=None if subresource else self._created(call, lambda: plan.on(None, self._clock.now())),
            )
        else:
            validation = field_validation(query, "PatchOptions")
            transform = transform_of(self._registry.schema, kind, patch, validation, call.warnings)
            transform = self._access.guard.on(kind, info.namespace, transform, call.user)
            written = await self._registry.update(
                kind, info.namespace, info.name, transform, caller, subresource=subresource
            )
        return await self._one(kind, written.stored, renderer, 201 if written.is_created else 200)

    def _created(self, call: Call, make: Callable[[], Document]) -> Callable[[], Document]:
        """The document of an object that a PUT or an apply creates, for whoever may: that takes the right to create."""
        info = call.info

        def made() -> Document:
            self._access.guard.check_create(call.user, info)
            doc = make()
            check_name(doc.get("metadata", {}), info.name)
            if self._access.guard.is_about(call.kind):
                self._access.guard.check(call.kind, info.namespace, doc, None, call.user)
            return doc

        return made

    async def _delete(self, call: Call, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        options = self._delete_options(call)
        caller = self._caller(call, "DeleteOptions", given=options)
        deleted = await self._registry.delete(kind, info.namespace, info.name, options, caller)
        if kind.returns_deleted or not deleted.is_removed:
            return await self._one(kind, deleted.stored, renderer)
        metadata = deleted.stored.document()["metadata"]
        details = {"name": info.name, "group": kind.group, "kind": kind.resource, "uid": metadata["uid"]}
        return renderer.document(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {name: value for name, value in details.items() if value},
            }
        )

    async def _delete_collection(self, call: Call, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        options = self._delete_options(call)
        page = list_page(self._registry, kind, parse_list_options(kind, info.namespace, call.request.query))
        caller = self._caller(call, "DeleteOptions", given=options)
        for stored in page.items:
            try:
                await self._registry.delete(kind, stored.namespace, stored.name, options, caller)
            except ApiError as error:
                if error.code != 404:
                    raise
        return await self._page(kind, page, renderer)

    # Subresources

    async def _subresource(self, call: Call, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        row = kind.subresource(info.subresource)
        if row is None:
            raise no_such_resource()
        if info.subresource in _NO_RUNTIME:
            return self._no_runtime(call)
        if info.verb not in row.verbs or (kind.namespaced and not info.namespace):
            raise method_not_allowed()
        if info.subresource == "binding":
            return await self._bind(call, renderer)
        if info.subresource == "eviction":
            return await self._evict(call, renderer)
        if info.subresource == "scale":
            return await self._scale(call, renderer)
        if info.subresource == "token":
            body = self._plain_body(call, "TokenRequest")
            answer = self._access.token_requests.answer(info.namespace, info.name, body)
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

    def _no_runtime(self, call: Call) -> Response:
        """Everything that needs a container says why there is none."""
        info = call.info
        if call.request.query.all("dryRun"):
            raise bad_request("dryRun is not supported")
        self._registry.get(call.kind, info.namespace, info.name)
        raise ApiError(501, "", _NO_RUNTIME[info.subresource])

    async def _bind(self, call: Call, renderer: Renderer) -> Response:
        info = call.info
        binding = self._plain_body(call, "Binding")
        name = info.name or binding.get("metadata", {}).get("name", "")
        if not name:
            raise bad_request("name is required")
        answer = await self._pods.bind(info.namespace, name, binding, self._caller(call, "CreateOptions"))
        return renderer.document(answer, status=201)

    async def _evict(self, call: Call, renderer: Renderer) -> Response:
        info = call.info
        eviction = self._plain_body(call, "Eviction")
        answer = await self._pods.evict(info.namespace, info.name, eviction, self._caller(call, "CreateOptions"))
        return renderer.document(answer, status=201)

    async def _scale(self, call: Call, renderer: Renderer) -> Response:
        info, kind = call.info, call.kind
        if info.verb == "get":
            return await self._scale_of(kind, self._registry.get(kind, info.namespace, info.name), renderer)
        scale_kind = SCALE
        if info.verb == "update":
            caller = self._caller(call, "UpdateOptions")
            body = self._plain_body(call, "Scale")

            def transform(workload: Document) -> Document:
                return with_scale(workload, body, kind.scale)
        else:
            patch = read_patch(scale_kind, call.request.body, call.request.headers.get("content-type", ""))
            caller = self._caller(call, "PatchOptions", patch_type=patch.type)
            validation = field_validation(call.request.query, "PatchOptions")
            patched = transform_of(self._registry.schema, scale_kind, patch, validation, call.warnings)

            def transform(workload: Document) -> Document:
                return with_scale(workload, patched(to_scale(workload, kind.scale)), kind.scale)

        written = await self._registry.update(kind, info.namespace, info.name, transform, caller)
        return await self._scale_of(kind, written.stored, renderer)

    async def _scale_of(self, kind: Kind, stored: Stored, renderer: Renderer) -> Response:
        if kind.is_custom:
            (stored,) = await self._registry.versions.shown(kind, [stored])
        return renderer.computed(SCALE, to_scale(stored.document(), kind.scale))

    # Bodies and options

    def _decode(self, call: Call, options_kind: str) -> Document:
        request = call.request
        validation = field_validation(request.query, options_kind)
        content_type = request.headers.get("content-type", "")
        return decode_object(self._registry.schema, call.kind, request.body, content_type, validation, call.warnings)

    def _plain_body(self, call: Call, kind: str) -> Document:
        try:
            body = read_body(call.request.body, call.request.headers.get("content-type", ""))
        except BodyError as error:
            raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {error}") from error
        if not isinstance(body.value, dict):
            raise bad_request(f"the object provided is unrecognized (must be of type {kind})")
        doc: Document = {name: value for name, value in body.value.items() if value is not None}
        if doc.get("kind", kind) != kind:
            raise bad_request(f'{doc["kind"]} in version "v1" cannot be handled as a {kind}')
        type_name = _PLAIN_TYPES[kind]
        try:
            return self._registry.schema.clean(doc, type_name)[0]
        except DecodeError as error:
            raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from error

    def _delete_options(self, call: Call) -> DeleteOptions:
        request = call.request
        if not request.body:
            query = request.query
            return DeleteOptions(
                grace_period_seconds=query.integer_or_none("gracePeriodSeconds"),
                propagation_policy=query.get("propagationPolicy") or None,
                orphan_dependents=query.flag_or_none("orphanDependents"),
                dry_run=tuple(query.all("dryRun")),
            )
        try:
            body = read_body(request.body, request.headers.get("content-type", ""))
            if isinstance(body.value, dict) and body.value.get("kind") not in (None, "", "DeleteOptions"):
                raise bad_request("decoded object cannot be converted to DeleteOptions")
            doc, _ = self._registry.schema.clean(body.value, "meta.v1.DeleteOptions")
            return msgspec.convert(doc, DeleteOptions)
        except (BodyError, DecodeError, msgspec.ValidationError) as error:
            raise bad_request(f"decoded object cannot be converted to DeleteOptions: {error}") from error

    def _caller(
        self, call: Call, options_kind: str, *, patch_type: str = "", given: DeleteOptions | None = None
    ) -> Caller:
        query = call.request.query
        manager = query.get("fieldManager")
        errors = _option_errors(query, manager, patch_type)
        if errors:
            raise invalid_object(options_kind, "meta.k8s.io", "", errors)
        agent = call.request.headers.get("user-agent", "").partition("/")[0]
        default = "".join(c for c in agent if c.isprintable())[:MANAGER_BYTES_MAX] or "unknown"
        return Caller(
            user=call.user,
            warnings=call.warnings,
            annotations=call.annotations,
            manager=manager or default,
            is_apply=patch_type == APPLY,
            dry_run=bool(query.all("dryRun")),
            options=_options(query, options_kind, given),
        )


def _options(query: Query, kind: str, given: DeleteOptions | None) -> dict[str, Any]:  # the options of a write as JSON
    """What the query says, or the body of a delete, as webhooks see it."""
    found: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if query.raw:
        for name in ("fieldManager", "fieldValidation", "propagationPolicy"):
            if value := query.get(name):
                found[name] = value
        if dry_run := query.all("dryRun"):
            found["dryRun"] = dry_run
        if query.flag_or_none("force"):
            found["force"] = True
    if given is not None:
        said = msgspec.to_builtins(given)
        said["preconditions"] = {name: value for name, value in said["preconditions"].items() if value}
        found.update((name, value) for name, value in said.items() if value)
        if given.grace_period_seconds is not None:
            found["gracePeriodSeconds"] = given.grace_period_seconds
    return found


def _option_errors(query: Query, manager: str, patch_type: str) -> list[FieldError]:
    errors: list[FieldError] = []
    dry_run = query.all("dryRun")
    if dry_run and any(value != "All" for value in dry_run):
        errors.append(not_supported("dryRun", dry_run, ("All",)))
    if patch_type == APPLY and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if patch_type and patch_type != APPLY and query.has("force"):
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > MANAGER_BYTES_MAX:
        errors.append(too_long("fieldManager", MANAGER_BYTES_MAX))
    errors.extend(
        invalid("fieldManager", manager, f"invalid character U+{ord(c):04X} (at position {len(manager[:i].encode())})")
        for i, c in enumerate(manager)
        if not c.isprintable()
    )
    return errors


SCALE: Final = Kind(
    group="autoscaling",
    version="v1",
    resource="scales",
    singular="scale",
    kind="Scale",
    namespaced=True,
    type_name="autoscaling.v1.Scale",
    storage="scales",
)
_PLAIN_TYPES: Final = {
    "Binding": "core.v1.Binding",
    "Eviction": "policy.v1.Eviction",
    "Scale": "autoscaling.v1.Scale",
    "TokenRequest": "authentication.v1.TokenRequest",
}
