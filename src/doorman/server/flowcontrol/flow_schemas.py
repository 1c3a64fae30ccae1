"""Which flow a request belongs to. Pure.

Rules
-----
1. Of the schemas that match, the one of the lowest precedence counts; of equals the first by name.
2. A schema matches by one of its rules: one of its subjects is who asks, and one of its resource rules (or path rules)
   is what is asked. `*` stands for everything; a resource rule names namespaces, `clusterScope` is for what is in none.
3. Requests of one schema are told apart by user, by namespace, or not at all: that is the flow.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.identity import User
from doorman.api.views.access.flowcontrol import FlowPathRule, FlowResourceRule, FlowRules, FlowSchema, FlowSubject
from doorman.api.well_known import SERVICE_ACCOUNT_PREFIX
from doorman.server.request import RequestInfo

ANY: Final = "*"


def in_order(schemas: Iterable[FlowSchema]) -> list[FlowSchema]:
    """Rule 1."""
    return sorted(schemas, key=lambda schema: (schema.spec.matching_precedence, schema.metadata.name))


def classify(schemas: Sequence[FlowSchema], user: User, info: RequestInfo) -> FlowSchema | None:
    """Rules 1 and 2; `schemas` are in order."""
    return next(
        (schema for schema in schemas if any(_applies(rule, user, info) for rule in schema.spec.rules or ())), None
    )


def flow_of(schema: FlowSchema, user: User, info: RequestInfo) -> str:
    """Rule 3."""
    method = schema.spec.distinguisher_method.type if schema.spec.distinguisher_method is not None else ""
    return user.name if method == "ByUser" else info.namespace if method == "ByNamespace" else ""


def _applies(rule: FlowRules, user: User, info: RequestInfo) -> bool:
    if not any(_is_meant(subject, user) for subject in rule.subjects or ()):
        return False
    if info.is_resource:
        return any(_is_about(one, info) for one in rule.resource_rules or ())
    return any(_is_path(one, info) for one in rule.non_resource_rules or ())


def _is_meant(subject: FlowSubject, user: User) -> bool:
    if subject.kind == "User" and subject.user is not None:
        return subject.user.name in (ANY, user.name)
    if subject.kind == "Group" and subject.group is not None:
        return subject.group.name == ANY or subject.group.name in user.groups
    if subject.kind == "ServiceAccount" and subject.service_account is not None:
        account = subject.service_account
        if account.name == ANY:
            return user.name.startswith(f"{SERVICE_ACCOUNT_PREFIX}{account.namespace}:")
        return user.name == f"{SERVICE_ACCOUNT_PREFIX}{account.namespace}:{account.name}"
    return False


def _is_about(rule: FlowResourceRule, info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (_has(rule.verbs, info.verb) and _has(rule.api_groups, info.group) and _has(rule.resources, resource)):
        return False
    return _has(rule.namespaces, info.namespace) if info.namespace else rule.cluster_scope


def _is_path(rule: FlowPathRule, info: RequestInfo) -> bool:
    if not _has(rule.verbs, info.verb):
        return False
    return any(
        url in (ANY, info.path) or (url.endswith("/*") and info.path.startswith(url[:-1])) for url in rule.urls or ()
    )


def _has(names: Sequence[str] | None, name: str) -> bool:
    return names is not None and (ANY in names or name in names)
