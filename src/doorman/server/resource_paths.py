"""Whether what a path names can be asked for with the verb that a request has."""

from typing import Final

from doorman.base.errors import ApiError, bad_request, method_not_allowed, no_such_resource
from doorman.server.request_context import RequestContext

_ON_COLLECTIONS: Final = ("list", "watch", "create", "deletecollection")


def check_scope(call: RequestContext) -> None:
    """The path names no namespace for what has none, and one for an object of what has one."""
    info, kind = call.info, call.kind
    if kind.namespaced:
        is_misplaced = bool(info.name) and not info.namespace
    else:
        is_misplaced = bool(info.namespace) and (kind.resource != "namespaces" or info.name != info.namespace)
    if is_misplaced:
        raise no_such_resource()


def check_verb(call: RequestContext) -> None:
    """The kind knows the verb, and the path is that of an object, or of all, as the verb wants it."""
    info, kind = call.info, call.kind
    if kind.namespaced and not info.namespace and info.verb not in ("list", "watch"):
        raise method_not_allowed()
    is_old_watch = info.verb == "watch" and bool(info.name)  # the prefix /watch/ takes a name too
    is_named_create = info.verb == "create" and kind.is_custom  # those do not look at the rest of the path
    is_placed = bool(info.name) is not (info.verb in _ON_COLLECTIONS) or is_old_watch or is_named_create
    if info.verb not in kind.verbs or not is_placed:
        raise _refusal(call)
    if info.verb == "watch" and call.request.method not in ("GET", "HEAD"):
        raise method_not_allowed()


def _refusal(call: RequestContext) -> ApiError:
    info, kind = call.info, call.kind
    if info.name and set(kind.verbs) == {"create"}:
        return no_such_resource()  # what can only be created has no names
    if kind.is_custom and not info.name and info.verb in ("update", "patch"):
        return bad_request("name must be provided")
    return method_not_allowed()
