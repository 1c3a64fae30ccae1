"""Acting as somebody else: what the `Impersonate-*` headers ask for, and the rights that takes."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from doorman.api.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User
from doorman.api.well_known import AUTHENTICATION_GROUP, SERVICE_ACCOUNT_PREFIX
from doorman.base.errors import ApiError, bad_request
from doorman.base.go_format import quote
from doorman.server.auth.authorization import Authorizer
from doorman.server.request import RequestInfo

EXTRA_PREFIX: Final = "impersonate-extra-"


def impersonated(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User | None:
    """The user the caller acts as from here on, or None when he acts as himself. Raises when he may not."""
    target = target_of(headers)
    if target is None:
        return None
    for info in rights_needed(headers):
        authorizer.check(user, info)
    return target


def target_of(headers: Mapping[str, str]) -> User | None:
    """None when nothing is said of anybody."""
    name = _first(headers, "impersonate-user")
    groups = _lines(headers.get("impersonate-group", ""))
    extra = _extra(headers)
    uid = _first(headers, "impersonate-uid")
    if not name:
        if groups or extra or uid:
            raise _incomplete(headers)
        return None
    if not groups:
        groups = account_groups(name)
    # Who is impersonated counts as logged in, but for the one who by his name is not.
    if AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED)
    return User(name=name, uid=uid, groups=tuple(dict.fromkeys(groups)), extra=extra)


def rights_needed(headers: Mapping[str, str]) -> Iterator[RequestInfo]:
    """One question to the authorizer for each thing that is taken on."""
    name = _first(headers, "impersonate-user")
    account = split_account(name)
    if account is not None:
        yield _right("serviceaccounts", account[1], namespace=account[0])
    else:
        yield _right("users", name)
    for group in _lines(headers.get("impersonate-group", "")):
        yield _right("groups", group)
    for key, values in _extra(headers).items():
        for value in values:
            yield _right("userextras", value, group=AUTHENTICATION_GROUP, subresource=key)
    uid = _first(headers, "impersonate-uid")
    if uid:
        yield _right("uids", uid, group=AUTHENTICATION_GROUP)


def split_account(name: str) -> tuple[str, str] | None:
    """
    >>> split_account("system:serviceaccount:kube-system:x"), split_account("jane")
    (('kube-system', 'x'), None)
    """
    if not name.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, found, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, account) if found and namespace and account and ":" not in account else None


def account_groups(name: str) -> tuple[str, ...]:
    """The groups a service account has by being one."""
    account = split_account(name)
    return ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}") if account is not None else ()


def _right(resource: str, name: str, *, group: str = "", namespace: str = "", subresource: str = "") -> RequestInfo:
    return RequestInfo(
        is_resource=True,
        verb="impersonate",
        path="",
        group=group,
        version="v1",
        namespace=namespace,
        resource=resource,
        subresource=subresource,
        name=name,
    )


def _first(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name, "").partition("\n")[0]


def _lines(header: str) -> tuple[str, ...]:
    """A header that was sent several times arrives as lines."""
    return tuple(line for line in header.split("\n") if line)


def _extra(headers: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {
        unquote(name.removeprefix(EXTRA_PREFIX)): _lines(value)
        for name, value in headers.items()
        if name.startswith(EXTRA_PREFIX)
    }


def _incomplete(headers: Mapping[str, str]) -> ApiError:
    groups, extra = _lines(headers.get("impersonate-group", "")), _extra(headers)
    listed = _go_texts(groups) if groups else "[]string(nil)"
    said = ", ".join(f"{quote(name)}:{_go_texts(extra[name])}" for name in sorted(extra))
    more = f"map[string][]string{{{said}}}" if extra else "map[string][]string(nil)"
    who = f'Name:"", UID:{quote(_first(headers, "impersonate-uid"))}, Groups:{listed}, Extra:{more}'
    return bad_request(f"requested &user.DefaultInfo{{{who}}} without impersonating a user name")


def _go_texts(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quote, texts))}}}"
