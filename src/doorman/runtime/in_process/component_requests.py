"""What one component asks in process: whether it may, and how often it did, as of all requests whoever makes them.

A component asks the same thing thousands of times, for one object after another. What it may do with every object of a
resource in a namespace is therefore asked of the authorizer once, until a role or a binding changes; with it is kept
where such requests are counted.
"""

import logging
from collections.abc import Awaitable
from typing import Final, Protocol, TypeVar

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.base.clock import Clock
from doorman.base.errors import ApiError
from doorman.server.auth.authorization import Authorizer, refusal_of
from doorman.server.auth.node_authorizer import node_of
from doorman.server.request import RequestInfo
from doorman.server.request_metrics import RequestMetrics, RequestSeries

T = TypeVar("T")

GRANTED_MAX: Final = 4096

_log: Final = logging.getLogger("doorman.runtime")


class RoleEdition(Protocol):
    @property
    def edition(self) -> int:
        """Another number whenever a role or a binding has changed."""
        ...


class GrantedRequest(msgspec.Struct, frozen=True):
    """A request that may be made."""

    info: RequestInfo
    """Of the first one: the name may be another's."""
    answered: RequestSeries
    """Where those are counted that succeed."""


class ComponentRequests:
    def __init__(
        self, user: User, authorizer: Authorizer, roles: RoleEdition, metrics: RequestMetrics, clock: Clock
    ) -> None:
        self._user = user
        self._authorizer = authorizer
        self._roles = roles
        self._metrics = metrics
        self._clock = clock
        self._is_node = bool(node_of(user))
        """What a kubelet may do depends on its pods, not on roles alone."""
        self._granted: dict[tuple[str, ...], GrantedRequest] = {}
        self._edition = roles.edition

    def authorize(self, verb: str, kind: Kind, namespace: str, name: str = "", subresource: str = "") -> GrantedRequest:
        """Raises the 403."""
        if self._edition != self._roles.edition:
            self._granted.clear()
            self._edition = self._roles.edition
        key = (verb, kind.group, kind.version, kind.resource, subresource, namespace)
        granted = self._granted.get(key)
        if granted is not None:
            return granted
        info = request_info(verb, kind, namespace, name, subresource)
        granted = GrantedRequest(info, self._metrics.series(info, 201 if verb == "create" else 200))
        if not self._is_node and self._decide(msgspec.structs.replace(info, name="")) is None:
            # Whatever the name is.
            if len(self._granted) >= GRANTED_MAX:
                self._granted.clear()
            self._granted[key] = granted
            return granted
        refused = self._decide(info)
        if refused is not None:
            # Somebody has changed the default roles, or a controller does what its role does not foresee.
            _log.warning("a component may not do what it must: %s", refused.message)
            self._metrics.observe(info, refused.code, 0.0)
            raise refused
        return granted

    def _decide(self, info: RequestInfo) -> ApiError | None:
        """The refusal, if it is refused."""
        decision = self._authorizer.decide(self._user, info)
        if not decision.is_allowed and info.verb == "patch":
            # Our components send patches where upstream's send whole objects; the roles are upstream's.
            decision = self._authorizer.decide(self._user, msgspec.structs.replace(info, verb="update"))
        return None if decision.is_allowed else refusal_of(self._user, info, decision.reason)

    def count(self, info: RequestInfo, seconds: float, times: int) -> None:
        """Requests that were made together, and succeeded."""
        self._metrics.observe(info, 200, seconds, times=times)

    async def counted(self, granted: GrantedRequest, work: Awaitable[T]) -> T:
        began = self._clock.now()
        try:
            result = await work
        except ApiError as error:
            self._metrics.observe(granted.info, error.code, self._clock.now() - began)
            raise
        granted.answered.observe(self._clock.now() - began)
        return result


def request_info(verb: str, kind: Kind, namespace: str, name: str, subresource: str) -> RequestInfo:
    return RequestInfo(
        is_resource=True,
        verb=verb,
        path="",
        group=kind.group,
        version=kind.version,
        namespace=namespace,
        resource=kind.resource,
        subresource=subresource,
        name=name,
    )
