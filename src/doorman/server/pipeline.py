"""The way of every request: authenticate, authorize, route, handle; an `ApiError` becomes a Status in one place."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from doorman.api.identity import AUTHENTICATED, User
from doorman.api.kinds import Kind, is_builtin_group
from doorman.api.well_known import JSON
from doorman.base.bounds import BODY_BYTES_MAX
from doorman.base.clock import Clock
from doorman.base.errors import ApiError, bad_request, internal, no_such_resource, too_large
from doorman.base.generated_names import NameGenerator
from doorman.registry.patch_transforms import APPLY_PATCH
from doorman.registry.registry import Registry
from doorman.server.audit import AuditEntry, AuditLog
from doorman.server.auth.authentication import Authenticator
from doorman.server.auth.authorization import Authorizer, refusal_of
from doorman.server.auth.impersonation import impersonated
from doorman.server.auth_services import AuthServices
from doorman.server.codec.negotiation import PRODUCED, Accepted, negotiate
from doorman.server.codec.rendering import Renderer
from doorman.server.discovery.discovery import Discovery
from doorman.server.discovery.openapi import OpenApi
from doorman.server.discovery.server_version import VERSION
from doorman.server.flowcontrol.flow_control import FlowControl
from doorman.server.handlers import Compute, ResourceHandlers
from doorman.server.health_checks import HealthChecks
from doorman.server.metrics import Metrics
from doorman.server.request import Request, RequestInfo, Response, json_response, parse_request_info
from doorman.server.request_context import RequestContext
from doorman.server.request_deadlines import Deadline, Deadlines
from doorman.server.request_metrics import RequestMetrics
from doorman.server.routes import PRODUCED_BY_VERSION, check_document_route, has_route, route_refusal
from doorman.server.subresources.pod_logs import LogsOf
from doorman.server.warning_headers import warning_headers

_PRETTY_AGENTS: Final = ("curl", "Wget", "Mozilla/5.0")
_ONLY_POSTED: Final = ("create",)
_READING_VERBS: Final = ("get", "list", "watch", "deletecollection")
_REVIEWS: Final = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups of what is posted in order to be told how something is."""
_PERHAPS_OUTDATED: Final = (401, 403, 404)
"""Refusals for what is not there, or not any more."""

PlainHandler = Callable[[Request], Awaitable[Response]]
"""Answers a path that is no resource. Raises ApiError."""


class Pipeline:
    def __init__(
        self,
        registry: Registry,
        *,
        authenticator: Authenticator,
        authorizer: Authorizer,
        access: AuthServices,
        computed: Mapping[str, Compute],
        flow: FlowControl,
        audit: AuditLog | None = None,
        health: HealthChecks,
        metrics: Metrics,
        requests: RequestMetrics,
        clock: Clock,
        names: NameGenerator,
        rng: random.Random,
        logs_of: LogsOf,
        plain: Mapping[str, PlainHandler] | None = None,
    ) -> None:
        """`plain` are paths of our own that are no resources; `logs_of` tells what containers wrote."""
        self._registry = registry
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._flow = flow
        self._deadlines = Deadlines()
        self._audit = audit
        self._health = health
        self._metrics = metrics
        self._requests = requests
        self._clock = clock
        self._names = names
        self._handlers = ResourceHandlers(registry, access, computed, clock, rng, logs_of)
        self._settle = self._handle_upon_newest if registry.is_shared else self._handle
        self._issuer = access.issuer
        self._own_paths = plain or {}
        self._discovery = Discovery(registry.kinds)
        self._openapi = OpenApi(registry.kinds, registry.schema)

    async def handle(self, request: Request) -> Response:
        """Never raises but for a broken invariant."""
        warnings: list[str] = []
        began = self._clock.now()
        info = parse_request_info(request.method, request.path, request.query)
        entry = self._audit.begin(request) if self._audit is not None else None
        deadline: Deadline | None = None
        try:
            # A watch is answered at once, and lasts as long as it likes.
            deadline = self._deadlines.begin(request.query.get("timeout") if info.verb != "watch" else "")
            response = await self._settle(request, info, warnings, entry)
        except ApiError as error:
            if error.code == 405:
                warnings.clear()  # of what nobody does nothing is said
            response = self._refused(error, request)
        except asyncio.CancelledError:
            late = deadline.timeout_error() if deadline is not None else None
            if late is None:
                raise
            response = self._refused(late, request)
        except RecursionError:
            # What is too deep for one of the many walks over a document: the document's fault, not the server's.
            response = self._refused(bad_request("the object is nested too deeply"), request)
        finally:
            if deadline is not None:
                deadline.end()
        if warnings:
            response.headers += warning_headers(warnings)
        # Of a header that was sent several times only the first line goes back: the others would be headers of ours.
        sent_id = request.headers.get("audit-id")
        audit_id = (sent_id.partition("\n")[0] if sent_id else "") or self._names.uid()
        response.headers.append(("Audit-Id", audit_id))
        if self._audit is not None and entry is not None:
            self._audit.finish(entry, response, audit_id)
        self._requests.observe(
            info,
            response.status,
            self._clock.now() - began,
            is_dry=bool(request.query.get("dryRun")),
            is_apply=request.method == "PATCH" and request.headers.get("content-type", "").startswith(APPLY_PATCH),
        )
        return response

    async def _handle_upon_newest(
        self, request: Request, info: RequestInfo, warnings: list[str], entry: AuditEntry | None
    ) -> Response:
        """Where others write, nobody is refused because of something that this server has not read yet: what it does
        not know of may be a namespace, a role, a service account, a custom kind that another server has made.
        """
        seen = self._registry.cache.revision
        try:
            response = await self._handle(request, info, warnings, entry)
        except ApiError as error:
            if error.code not in _PERHAPS_OUTDATED or not await self._registry.has_more(seen):
                raise
        else:
            if response.status not in _PERHAPS_OUTDATED or not await self._registry.has_more(seen):
                return response
        warnings.clear()
        return await self._handle(request, info, warnings, entry)

    async def _handle(
        self, request: Request, info: RequestInfo, warnings: list[str], entry: AuditEntry | None
    ) -> Response:
        if len(request.body) > BODY_BYTES_MAX:
            raise too_large(f"limit is {BODY_BYTES_MAX}")
        user = self._authenticator.authenticate(request)
        if entry is not None:
            entry.info, entry.user = info, user
        try:
            target = impersonated(user, request.headers, self._authorizer) if request.impersonates else None
        except ApiError as error:
            return self._not_allowed(error, request)
        if target is not None:
            user = target
            if entry is not None:
                entry.acting_as = target
        flow = self._flow.flow_of(user, info)
        if not self._flow.try_enter(flow, info):
            await self._flow.wait(flow, info)
        try:
            response = await self._serve(request, info, user, warnings, entry)
        finally:
            self._flow.leave(flow, info)
        response.headers += flow.headers
        return response

    async def _serve(
        self, request: Request, info: RequestInfo, user: User, warnings: list[str], entry: AuditEntry | None
    ) -> Response:
        decision = self._authorizer.decide(user, info)
        if not decision.is_allowed:
            return self._not_allowed(refusal_of(user, info, decision.reason), request)
        if entry is not None:
            entry.is_allowed = True
        if not info.is_resource:
            return await self._plain(request, user)
        kind = self._registry.kinds.at(info.group, info.version, info.resource)
        if kind is None:
            if self._discovery.has_version(info.group, info.version) or is_builtin_group(info.group):
                raise no_such_resource()
            return _page_not_found()
        if kind.deprecation and (not info.subresource or kind.subresource(info.subresource)):
            warnings.append(kind.deprecation)
        if not kind.is_custom:
            accept, is_verb = request.headers.get("accept", ""), info.verb in kind.verbs
            refusal = route_refusal(request.method, accept, info.verb, info.subresource, is_verb, not request.body)
            if refusal is not None:
                raise refusal()
        accepted = self._accepted(request, info, kind)
        renderer = Renderer(
            accepted,
            pretty=_wants_pretty(request),
            include_object=request.query.get("includeObject"),
            now=self._clock.now(),
        )
        annotations = entry.annotations if entry is not None else None
        call = RequestContext(
            request=request, info=info, user=user, kind=kind, warnings=warnings, annotations=annotations
        )
        if self._registry.is_shared and _reads_the_newest(info, request):
            await self._registry.catch_up()
        response = await self._handlers.handle(call, renderer)
        if response.stream is not None:
            response.stream = self._flow.counted(user, response.stream)
        return response

    def _accepted(self, request: Request, info: RequestInfo, kind: Kind) -> Accepted:
        is_watch = info.verb == "watch" or (info.verb == "get" and request.query.flag("watch"))
        converts = tuple(kind.verbs) != _ONLY_POSTED
        return negotiate(request.headers.get("accept", ""), is_watch=is_watch, converts=converts)

    async def _plain(self, request: Request, user: User) -> Response:
        """Paths that are no resources."""
        path = request.path.rstrip("/") or "/"
        if request.path.startswith("//"):
            return _page_not_found()
        if (found := self._discovery.answer(request)) is not None:
            return _discovered(request, found)
        if (found := await self._health.answer(request, names_objects=AUTHENTICATED in user.groups)) is not None:
            return found
        await self._openapi.prepare(request)
        if (found := self._openapi.answer(request)) is not None:
            return found
        if path.startswith(("/.well-known", "/openid")):
            return self._issuer.answer(request) or _page_not_found()
        if path == "/metrics":
            return self._metrics.answer()
        if (own := self._own_paths.get(path)) is not None:
            return await own(request)
        if path == "/version":
            check_document_route(request, PRODUCED_BY_VERSION)
            return json_response(VERSION, pretty=True)
        if path == "/":
            return json_response({"paths": self._discovery.paths()}, pretty=True)
        parts = path.split("/")
        if len(parts) > 2 and (parts[1] == "api" or (parts[1] == "apis" and is_builtin_group(parts[2]))):
            raise no_such_resource()
        return _page_not_found()

    def _refused(self, error: ApiError, request: Request) -> Response:
        try:
            accepted = negotiate(request.headers.get("accept", ""), converts=False)
        except ApiError:
            accepted = Accepted(pretty=True)
        renderer = Renderer(
            Accepted(media_type=accepted.media_type, pretty=accepted.pretty),
            pretty=_wants_pretty(request),
            include_object="",
            now=0.0,
        )
        response = renderer.document(error.status(), status=error.code)
        if error.retry_after_seconds:
            response.headers.append(("Retry-After", str(error.retry_after_seconds)))
        return response

    def _not_allowed(self, error: ApiError, request: Request) -> Response:
        """What the authorizer refuses, and nobody else, is marked so that no browser guesses what it is."""
        response = self._refused(error, request)
        response.headers.append(("X-Content-Type-Options", "nosniff"))
        return response


def server_fault(error: Exception) -> Response:
    """A bug of ours, said as clients understand it; the details go to the log only."""
    status = internal("the server could not handle the request").status()
    assert error is not None
    return json_response(status, status=500)


def unreadable() -> Response:
    """A request of which not even the parts could be told apart."""
    return json_response(bad_request("the request could not be read").status(), status=400)


def _discovered(request: Request, found: Response) -> Response:
    """Discovery in the form the client takes."""
    if has_route(request.path):
        check_document_route(request, PRODUCED)
    accept = request.headers.get("accept", "")
    if found.content_type != JSON:
        return found
    accepted = negotiate(accept, converts=False)
    if accepted.media_type == JSON:
        return found
    renderer = Renderer(accepted, pretty=False, include_object="", now=0.0)
    return renderer.document(msgspec.json.decode(found.body))


def _page_not_found() -> Response:
    return Response(
        status=404,
        content_type="text/plain; charset=utf-8",
        headers=[("X-Content-Type-Options", "nosniff")],
        body=b"404 page not found\n",
    )


def _reads_the_newest(info: RequestInfo, request: Request) -> bool:
    """Whether what is read must be no older than the request; `resourceVersion=0` takes what is there."""
    return (info.verb in _READING_VERBS or info.group in _REVIEWS) and request.query.get("resourceVersion") != "0"


def _wants_pretty(request: Request) -> bool:
    asked = request.query.flag_or_none("pretty")
    if asked is not None:
        return asked
    return request.headers.get("user-agent", "").startswith(_PRETTY_AGENTS)
