"""What a router says before anybody looks at a request: Kubernetes' API server has one in front of the built-in kinds,
and of the documents that list them. It knows which methods there are, and which forms of an answer.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from doorman.api.kinds import is_builtin_group
from doorman.api.well_known import JSON
from doorman.base.errors import ApiError, method_not_allowed, no_such_resource
from doorman.server.codec.negotiation import PRODUCED, PRODUCED_BY_LISTS, PRODUCED_BY_LOGS, produced_refusal
from doorman.server.request import Request

PRODUCED_BY_VERSION: Final = (JSON,)
_WRITES: Final = ("POST", "PUT", "PATCH")
_CONNECTIONS: Final = ("proxy", "exec", "attach", "portforward")
"""Subresources that hand a request on, whatever it asks for."""
_GROUP_DOCUMENT_PARTS: Final = 2
"""`/apis/GROUP`: up to there documents are written by somebody else, who looks at no method."""


@lru_cache(maxsize=1024)
def route_refusal(
    method: str, accept: str, verb: str, subresource: str, is_verb: bool, is_empty: bool
) -> Callable[[], ApiError] | None:
    """Of a request about a resource of a built-in kind; custom kinds have no router. Remembered: every request asks.

    `is_verb`: the kind knows it; `is_empty`: there is no body.
    """
    if verb == "proxy":
        return no_such_resource
    if method == "HEAD":
        return method_not_allowed
    if subresource in _CONNECTIONS or not (is_verb or subresource):
        return None
    return produced_refusal(accept, _produced(verb, subresource), is_empty_write=method in _WRITES and is_empty)


def _produced(verb: str, subresource: str) -> tuple[str, ...]:
    if subresource == "log":
        return PRODUCED_BY_LOGS
    return PRODUCED_BY_LISTS if verb in ("list", "watch") else PRODUCED


def has_route(path: str) -> bool:
    """Whether a document of discovery is behind the router."""
    parts = path.strip("/").split("/")
    return parts[0] == "api" or (len(parts) > _GROUP_DOCUMENT_PARTS and is_builtin_group(parts[1]))


def check_document_route(request: Request, produced: tuple[str, ...]) -> None:
    if request.method != "GET":
        raise method_not_allowed()
    if (refusal := produced_refusal(request.headers.get("accept", ""), produced)) is not None:
        raise refusal()
