"""Who is asking: bearer tokens, impersonation, or nobody in particular."""

import hmac
from collections.abc import Mapping
from typing import Protocol

import msgspec

from doorman.api.identity import ADMIN, ANONYMOUS, AUTHENTICATED, User
from doorman.base.errors import unauthorized
from doorman.server.request import Request


class Authenticator(Protocol):
    def authenticate(self, request: Request) -> User: ...


class TokenAuthenticator:
    """The administrator's token of this data directory. A wrong token is refused, no token is anonymous."""

    def __init__(self, admin_token: str) -> None:
        self._expected = f"Bearer {admin_token}"

    def authenticate(self, request: Request) -> User:
        header = request.headers.get("authorization", "")
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        given = f"Bearer {token.strip()}" if scheme.lower() == "bearer" else header
        if hmac.compare_digest(given.encode(), self._expected.encode()):
            return ADMIN
        raise unauthorized()


def impersonated(user: User, headers: Mapping[str, str]) -> User | None:
    """The user the caller wants to act as, or None. Whether he may is the authorizer's to say."""
    name = headers.get("impersonate-user", "")
    groups = tuple(group for group in headers.get("impersonate-group", "").split("\n") if group)
    if not name:
        return None
    found = tuple(dict.fromkeys((*groups, *_service_account_groups(name, groups), AUTHENTICATED)))
    if name == ANONYMOUS.name:
        return ANONYMOUS
    return msgspec.structs.replace(user, name=name, groups=found, uid=headers.get("impersonate-uid", ""), extra={})


def _service_account_groups(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    parts = name.split(":")
    if groups or len(parts) != 4 or not name.startswith("system:serviceaccount:"):
        return ()
    return ("system:serviceaccounts", f"system:serviceaccounts:{parts[2]}")
