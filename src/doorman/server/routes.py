"""What a router says before anybody looks at a request: Kubernetes' API server has one in front of the built-in kinds,
and of the documents that list them. It knows which methods there are, and which forms of an answer.
"""

from typing import Final

from doorman.api.kinds import Kind, is_builtin_group
from doorman.api.well_known import JSON
from doorman.base.errors import method_not_allowed, no_such_resource
from doorman.server.codec.negotiation import PRODUCED, PRODUCED_BY_LISTS, PRODUCED_BY_LOGS, check_produced
from doorman.server.request import Request, RequestInfo

PRODUCED_BY_VERSION: Final = (JSON,)
_WRITES: Final = ("POST", "PUT", "PATCH")
_CONNECTIONS: Final = ("proxy", "exec", "attach", "portforward")
"""Subresources that hand a request on, whatever it asks for."""
_GROUP_DOCUMENT_PARTS: Final = 2
"""`/apis/GROUP`: up to there documents are written by somebody else, who looks at no method."""


def check_route(request: Request, info: RequestInfo, kind: Kind) -> None:
    """Of a request about a resource. Raises the router's refusal; custom kinds have none."""
    if kind.is_custom:
        return
    if info.verb == "proxy":
        raise no_such_resource()
    if request.method == "HEAD":
        raise method_not_allowed()
    if info.subresource in _CONNECTIONS or (info.verb not in kind.verbs and not info.subresource):
        return
    is_empty_write = request.method in _WRITES and not request.body
    check_produced(request.headers.get("accept", ""), _produced(info), is_empty_write=is_empty_write)


def _produced(info: RequestInfo) -> tuple[str, ...]:
    if info.subresource == "log":
        return PRODUCED_BY_LOGS
    return PRODUCED_BY_LISTS if info.verb in ("list", "watch") else PRODUCED


def has_route(path: str) -> bool:
    """Whether a document of discovery is behind the router."""
    parts = path.strip("/").split("/")
    return parts[0] == "api" or (len(parts) > _GROUP_DOCUMENT_PARTS and is_builtin_group(parts[1]))


def check_document_route(request: Request, produced: tuple[str, ...]) -> None:
    if request.method != "GET":
        raise method_not_allowed()
    check_produced(request.headers.get("accept", ""), produced)
