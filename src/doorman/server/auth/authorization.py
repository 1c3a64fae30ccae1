"""Who may do what: masters everything, then whoever of the authorizers says yes first."""

from collections.abc import Sequence
from typing import Protocol

from doorman.api.identity import MASTERS, User
from doorman.base.errors import ApiError, GroupResource, forbidden_request
from doorman.base.go_format import quote
from doorman.server.auth.rbac_authorizer import Decision
from doorman.server.request import RequestInfo

_ALLOWED = Decision(True)


class Decider(Protocol):
    def decide(self, user: User, info: RequestInfo) -> Decision:
        """Allowed, or no opinion; the reason is for whoever asks why."""
        ...


class Authorizer:
    """Kubernetes' chain: `system:masters` before all others, then each in turn."""

    def __init__(self, deciders: Sequence[Decider]) -> None:
        self._deciders = tuple(deciders)

    def decide(self, user: User, info: RequestInfo) -> Decision:
        if MASTERS in user.groups:
            return _ALLOWED
        reasons: list[str] = []
        for decider in self._deciders:
            decision = decider.decide(user, info)
            if decision.is_allowed:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(False, "\n".join(reasons))

    def check(self, user: User, info: RequestInfo) -> None:
        """Raises the 403 when the user may not."""
        decision = self.decide(user, info)
        if not decision.is_allowed:
            raise refusal_of(user, info, decision.reason)


def refusal_of(user: User, info: RequestInfo, reason: str = "") -> ApiError:
    """403, in the words clients know."""
    name = _escaped(user.name)
    tail = f": {reason}" if reason else ""
    if not info.is_resource:
        text = f"forbidden: User {quote(name)} cannot {info.verb} path {quote(_escaped(info.path))}{tail}"
        return ApiError(403, "Forbidden", text, details={})
    what = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    where = f"in the namespace {quote(_escaped(info.namespace))}" if info.namespace else "at the cluster scope"
    why = (
        f"User {quote(name)} cannot {info.verb} resource {quote(_escaped(what))} in API group "
        f"{quote(_escaped(info.group))} {where}{tail}"
    )
    return forbidden_request(GroupResource(info.group, info.resource), info.named, why)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
