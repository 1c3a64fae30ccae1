"""A request and an answer as values, and what a path means."""

import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, Self
from urllib.parse import unquote_plus

import msgspec

from doorman.api.machinery.field_selectors import FieldSelectorError, FieldTerm, parse_field_selector
from doorman.base.bounds import QUERY_PARAMETERS_MAX
from doorman.base.errors import bad_request

PATHS_MAX: Final = 1024
"""Paths whose meaning is remembered."""

IMPERSONATE: Final = "impersonate-"
"""How headers begin that ask to act as somebody else."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Query:
    """Query parameters: the first value of each, as Kubernetes reads them."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._values: dict[str, list[str]] = {}
        if raw and raw.count("&") < QUERY_PARAMETERS_MAX:
            for pair in raw.split("&"):
                # As Go reads them: a pair that is malformed is left out, and the others count.
                if pair and ";" not in pair and ("%" not in pair or not _BAD_ESCAPE.search(pair)):
                    name, _, value = pair.partition("=")
                    self._values.setdefault(_unescaped(name), []).append(_unescaped(value))

    def get(self, name: str, default: str = "") -> str:
        values = self._values.get(name)
        return values[0] if values else default

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def has(self, name: str) -> bool:
        return name in self._values

    def flag(self, name: str) -> bool:
        """Absent: false; present and empty: true; `0` and `false`: false."""
        values = self._values.get(name)
        return bool(values) and values is not None and values[0].lower() not in ("0", "false")

    def flag_or_none(self, name: str) -> bool | None:
        return self.flag(name) if name in self._values else None

    def integer_or_none(self, name: str) -> int | None:
        text = self.get(name)
        if not text:
            return None
        if _INTEGER.fullmatch(text) is None:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        return int(text)


NO_QUERY: Final = Query("")


class RequestInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a method and a path ask for."""

    is_resource: bool
    verb: str
    path: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    rest: str = ""
    """What follows the subresource: `proxy` takes a path."""
    selector: tuple[FieldTerm, ...] = ()
    """The field selector of a request on a collection."""
    selected_name: str = ""
    """The one name that selector leaves: authorizers see it, handlers do not."""

    @property
    def named(self) -> str:
        """The name that decides about rights."""
        return self.name or self.selected_name


class PeerCertificates(msgspec.Struct, frozen=True):
    """What a client showed in its handshake, as DER: it holds the key of `leaf`, and nothing else is known of it."""

    leaf: bytes
    others: tuple[bytes, ...] | None
    """What it sent along, in its order; None: it took up an earlier session, whose certificates are not kept."""
    digest: bytes
    """Of all of it: short, and made once a connection."""

    @classmethod
    def of(cls, leaf: bytes, others: Sequence[bytes] | None = ()) -> Self:
        digest = hashlib.sha256(b"resumed" if others is None else b"shown")
        for each in (leaf, *(others or ())):
            digest.update(len(each).to_bytes(8, "big") + each)
        return cls(leaf, None if others is None else tuple(others), digest.digest())


class Request(msgspec.Struct, kw_only=True):
    method: str
    path: str
    """Decoded."""
    query: Query
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes = b""
    peer_certificates: PeerCertificates | None = None
    client: str = ""
    """The address it came from."""

    @property
    def impersonates(self) -> bool:
        """Whether any header asks to act as somebody else."""
        names = "\n".join(self.headers)
        return IMPERSONATE in names and any(name.startswith(IMPERSONATE) for name in self.headers)


class EventStream(Protocol):
    """A body that goes on: lines as they come about, until it is closed."""

    def lines(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...


class Response(msgspec.Struct, kw_only=True):
    """An answer. `body` for short ones; `chunks` for lists, written piece by piece; `stream` for watches."""

    status: int = 200
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = []
    cache_control: str = "no-cache, private"
    body: bytes = b""
    chunks: Iterable[bytes] | None = None
    length: int | None = None
    """Of all chunks, where it is known before they are."""
    stream: EventStream | None = None


def parse_request_info(method: str, path: str, query: Query) -> RequestInfo:
    """`path` is decoded already, once: an encoded slash is a slash, as in Go, and what it was before is nobody's name.

    >>> info = parse_request_info("GET", "/api/v1/namespaces/default/pods/p/log", Query(""))
    >>> info.verb, info.namespace, info.resource, info.name, info.subresource
    ('get', 'default', 'pods', 'p', 'log')
    """
    return _parse(method, path, query) if query.raw else _parse_path(method, path)


@lru_cache(maxsize=PATHS_MAX)
def _parse_path(method: str, path: str) -> RequestInfo:
    """Remembered: whoever creates many of a kind asks for the same path each time."""
    return _parse(method, path, NO_QUERY)


def _parse(method: str, path: str, query: Query) -> RequestInfo:
    verb = _VERBS.get(method, "")
    parts = path.strip("/").split("/")
    least = 3 if parts[0] == "api" else 4
    if parts[0] not in ("api", "apis") or len(parts) < least:
        return RequestInfo(is_resource=False, verb=method.lower(), path=path)
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    if rest[0] in ("watch", "proxy") and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    resource, name, subresource = (*rest[:3], "", "", "")[:3]
    if not name and verb == "get":
        verb = "watch" if query.flag("watch") else "list"
    elif not name and verb == "delete":
        verb = "deletecollection"
    selector = _selector(query.get("fieldSelector")) if not name and query.has("fieldSelector") else ()
    return RequestInfo(
        is_resource=True,
        verb=verb,
        path=path,
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        subresource=subresource,
        name=name,
        rest="/".join(rest[3:]),
        selector=selector,
        selected_name=_pinned_name(selector) if selector else "",
    )


def _unescaped(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


def _selector(text: str) -> tuple[FieldTerm, ...]:
    """A selector that cannot be read selects nothing here; the handler says what is wrong with it."""
    try:
        return parse_field_selector(text)
    except FieldSelectorError:
        return ()


def _pinned_name(selector: tuple[FieldTerm, ...]) -> str:
    return next((term.value for term in selector if term.field == "metadata.name" and term.is_equal), "")


def json_response(value: Any, *, status: int = 200, pretty: bool = False) -> Response:  # anything JSON can hold
    body = msgspec.json.encode(value)
    return Response(status=status, body=msgspec.json.format(body, indent=2) + b"\n" if pretty else body)
