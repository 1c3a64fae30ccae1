"""A request that has been let in, on its way to a handler: whether what it asks for can be asked for, and the options
it came with.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.machinery.decode_errors import DecodeError, json_type
from doorman.api.machinery.schema import Schema
from doorman.base.bounds import PATCH_COPY_BYTES_MAX, YAML_WEIGHT
from doorman.base.errors import (
    ApiError,
    FieldError,
    bad_request,
    forbidden,
    invalid,
    invalid_object,
    method_not_allowed,
    no_such_resource,
    not_supported,
    required,
    too_long,
)
from doorman.base.go_format import quote
from doorman.registry.caller import Caller
from doorman.registry.deletion import DeleteOptions
from doorman.registry.patch_transforms import APPLY_PATCH
from doorman.server.codec.decoding import FIELD_VALIDATIONS
from doorman.server.codec.request_bodies import VERSION_AND_KIND, BodyError, YamlBodyError, read_body
from doorman.server.request import Query, Request, RequestInfo

_ON_COLLECTIONS: Final = ("list", "watch", "create", "deletecollection")
MANAGER_BYTES_MAX: Final = 128
AGENTS_MAX: Final = 256
"""User agents that are remembered."""
JOB_PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class RequestContext(msgspec.Struct, kw_only=True):
    """A request on its way: who, what, and what to warn about."""

    request: Request
    info: RequestInfo
    user: User
    kind: Kind
    warnings: list[str] = []
    annotations: dict[str, str] | None = None
    """What the audit log is to be told; None: there is none."""


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


def caller_of(
    call: RequestContext, options_kind: str, *, patch_type: str = "", given: DeleteOptions | None = None
) -> Caller:
    """On whose behalf the call writes, and how. Raises when its options are wrong. Of a deletion they are `given`: in a
    body, which makes the query mean nothing, or read from it.
    """
    query = call.request.query
    manager = query.get("fieldManager")
    if given is None and (query.raw or patch_type):
        errors = _option_errors(query, manager, patch_type)
        if errors:
            raise invalid_object(options_kind, "meta.k8s.io", "", errors)
    return Caller(
        user=call.user,
        warnings=call.warnings,
        annotations=call.annotations,
        manager=manager or manager_of(call.request.headers.get("user-agent", "")),
        is_apply=patch_type == APPLY_PATCH,
        dry_run=bool(given.dry_run if given is not None else query.all("dryRun")),
        options=_options(query, options_kind, given),
        sent=(call.request.headers.get("content-type", ""), query.get("fieldValidation"), call.request.body),
        weight_bytes=weight_of(call.request),
    )


@lru_cache(maxsize=AGENTS_MAX)
def manager_of(agent: str) -> str:
    """The field manager of somebody who does not say, by his User-Agent.

    >>> manager_of("kubectl/v1.33.1 (linux/amd64)")
    'kubectl'
    """
    return "".join(c for c in agent.partition("/")[0] if c.isprintable())[:MANAGER_BYTES_MAX] or "unknown"


def weight_of(request: Request) -> int:
    """How much work a body is, in bytes of JSON that take as long."""
    size, content_type = len(request.body), request.headers.get("content-type", "")
    if "json-patch" in content_type and b"copy" in request.body:
        return PATCH_COPY_BYTES_MAX  # of which it may make as much
    return size * YAML_WEIGHT if "yaml" in content_type else size


def delete_options_of(call: RequestContext, schema: Schema) -> DeleteOptions:
    """From the body, or from the query when there is none. Who deletes a Job and says nothing of its pods is warned."""
    options = _given_delete_options(call, schema)
    is_silent = options.propagation_policy is None and options.orphan_dependents is None
    if is_silent and (call.kind.group, call.kind.resource) == ("batch", "jobs"):
        call.warnings.append(JOB_PODS_STAY)
    return options


def _given_delete_options(call: RequestContext, schema: Schema) -> DeleteOptions:
    request = call.request
    if not request.body:
        query = request.query
        return DeleteOptions(
            grace_period_seconds=query.integer_or_none("gracePeriodSeconds"),
            propagation_policy=query.get("propagationPolicy") if query.has("propagationPolicy") else None,
            orphan_dependents=query.flag_or_none("orphanDependents"),
            dry_run=tuple(query.all("dryRun")),
        )
    try:
        body = read_body(request.body, request.headers.get("content-type", ""))
        given = {} if body.value is None else body.value
        if fault := _head_fault(given):
            raise bad_request(f"couldn't get version/kind; json parse error: json: cannot unmarshal {fault}")
        if given.get("kind") not in (None, "", "DeleteOptions"):
            raise bad_request(_unregistered(given))
        doc, _ = schema.clean(given, "meta.v1.DeleteOptions")
        if given.get("propagationPolicy") == "":
            doc = {**doc, "propagationPolicy": ""}  # an empty one is one, and wrong
        return msgspec.convert(doc, DeleteOptions)
    except YamlBodyError as error:
        raise bad_request(str(error)) from error
    except BodyError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    except (DecodeError, msgspec.ValidationError) as error:
        raise bad_request(str(error)) from error


def _head_fault(given: Any) -> str:  # any JSON value
    """Why nobody can tell what kind of options these are."""
    if not isinstance(given, dict):
        return f"{json_type(given)} into Go value of type {VERSION_AND_KIND}"
    for name in ("apiVersion", "kind"):
        if given.get(name) is not None and not isinstance(given[name], str):
            return f"{json_type(given[name])} into Go struct field .{name} of type string"
    return ""


def _unregistered(body: Mapping[str, Any]) -> str:
    """Of an object that is no options at all."""
    scheme = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
    version = body.get("apiVersion") or ""
    return f'no kind {quote(str(body["kind"]))} is registered for version {quote(str(version))} in scheme "{scheme}"'


def _options(query: Query, kind: str, given: DeleteOptions | None) -> dict[str, Any]:  # the options of a write as JSON
    """What the query says, or the body of a delete, as webhooks see it."""
    found: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if query.raw and given is None:
        for name in ("fieldManager", "fieldValidation"):
            if value := query.get(name):
                found[name] = value
        if dry_run := query.all("dryRun"):
            found["dryRun"] = dry_run
        if query.flag_or_none("force"):
            found["force"] = True
    if given is not None:
        said = msgspec.to_builtins(given)
        said["preconditions"] = {name: value for name, value in said["preconditions"].items() if value}
        found.update((name, value) for name, value in said.items() if value)
        if given.grace_period_seconds is not None:
            found["gracePeriodSeconds"] = given.grace_period_seconds
    return found


def _option_errors(query: Query, manager: str, patch_type: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if patch_type == APPLY_PATCH and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if patch_type and patch_type != APPLY_PATCH and query.has("force"):
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > MANAGER_BYTES_MAX:
        errors.append(too_long("fieldManager", MANAGER_BYTES_MAX))
    errors.extend(
        invalid("fieldManager", manager, f"invalid character U+{ord(c):04X} (at position {len(manager[:i].encode())})")
        for i, c in enumerate(manager)
        if not c.isprintable()
    )
    dry_run = query.all("dryRun")
    if dry_run and any(value != "All" for value in dry_run):
        errors.append(not_supported("dryRun", dry_run, ("All",)))
    if (wanted := query.get("fieldValidation")) not in FIELD_VALIDATIONS:
        errors.append(not_supported("fieldValidation", wanted, FIELD_VALIDATIONS))
    return errors
