"""Who may do what, as far as it does not depend on roles: masters everything, everybody health and version."""

from typing import Final

from doorman.api.identity import MASTERS, User
from doorman.base.errors import ApiError, GroupResource, forbidden_request
from doorman.base.gotext import quote
from doorman.server.request import RequestInfo

PUBLIC_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")


class MastersAuthorizer:
    def check(self, user: User, info: RequestInfo) -> None:
        if MASTERS in user.groups:
            return
        if not info.is_resource and info.verb == "get" and info.path in PUBLIC_PATHS:
            return
        raise refusal(user, info)

    def check_impersonation(self, user: User, target: User) -> None:
        if MASTERS not in user.groups:
            info = RequestInfo(is_resource=True, verb="impersonate", path="", resource="users", name=target.name)
            raise refusal(user, info)


class Unrestricted:
    """For the server's own parts."""

    def check(self, user: User, info: RequestInfo) -> None:
        """Everything is allowed."""

    def check_impersonation(self, user: User, target: User) -> None:
        """Everything is allowed."""


def refusal(user: User, info: RequestInfo, reason: str = "") -> ApiError:
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
    return forbidden_request(GroupResource(info.group, info.resource), info.name, why)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
