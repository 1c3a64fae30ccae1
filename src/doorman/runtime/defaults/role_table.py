"""The rules of the roles that every cluster has, by role: a compact table.

A rule of the table is `VERBS GROUPS:RESOURCES#NAMES` or `VERBS /PATHS`, each a list with commas; an empty group is the
core one, `read` and `write` stand for several verbs, and `events` alone for what every recorder does.

    "get,update coordination.k8s.io:leases#kube-scheduler"
"""

from importlib.resources import files
from typing import Final

import msgspec

from doorman.api.views.access.rbac import PolicyRule

_VERBS: Final = {
    "read": ("get", "list", "watch"),
    "write": ("create", "delete", "deletecollection", "patch", "update"),
}
_EVENTS: Final = "create,patch,update ,events.k8s.io:events"


class RoleTable(msgspec.Struct, frozen=True, rename="camel"):
    cluster_roles: dict[str, tuple[str, ...]]
    labels: dict[str, str]
    aggregated: dict[str, str]
    cluster_role_bindings: dict[str, tuple[str, ...]]
    controllers: dict[str, tuple[str, ...]]
    roles: dict[str, tuple[str, ...]]
    role_bindings: dict[str, tuple[str, ...]]


def parse_rule(text: str) -> PolicyRule:
    """
    >>> parse_rule("read apps:daemonsets,daemonsets/status").verbs
    ('get', 'list', 'watch')
    >>> parse_rule("get /healthz,/version").non_resource_urls
    ('/healthz', '/version')
    """
    verbs_text, _, what = (_EVENTS if text == "events" else text).partition(" ")
    verbs = tuple(sorted(verb for word in verbs_text.split(",") for verb in _VERBS.get(word, (word,))))
    groups, colon, rest = what.partition(":")
    if not colon:
        return PolicyRule(verbs=verbs, non_resource_urls=tuple(what.split(",")))
    resources, _, names = rest.partition("#")
    return PolicyRule(
        verbs=verbs,
        api_groups=tuple(groups.split(",")),
        resources=tuple(resources.split(",")),
        resource_names=tuple(names.split(",")) if names else (),
    )


def node_rules() -> tuple[PolicyRule, ...]:
    """What the node authorizer allows every node."""
    return tuple(parse_rule(text) for text in role_table().cluster_roles["system:node"])


def controller_rules(account: str) -> tuple[PolicyRule, ...]:
    """What the role of a controller's service account allows it."""
    return tuple(parse_rule(text) for text in role_table().controllers.get(account, ()))


def role_rules(name: str) -> tuple[PolicyRule, ...]:
    """What a cluster role allows."""
    return tuple(parse_rule(text) for text in role_table().cluster_roles[name])


def role_table() -> RoleTable:
    raw = files("doorman.runtime.defaults").joinpath("data", "roles.json").read_bytes()
    return msgspec.json.decode(raw, type=RoleTable)
