"""clusterrole-aggregation-controller: cluster roles that are made of others, chosen by labels.

It reads cluster roles and writes the rules of those with an aggregation rule. Every change wakes the one key, because
a role may be part of any other; most wakes find nothing to do.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import matches
from doorman.api.views.access.rbac import PolicyRule, Role
from doorman.base.clock import Instant
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "clusterrole-aggregation-controller"
CLUSTER_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"
KEY: Final = "all"
WORKERS: Final = 1


def role_keys(change: ObjectChange) -> Iterable[str]:  # noqa: ARG001  whatever changed, all are looked at
    return (KEY,)


SOURCES: Final = (Source(CLUSTER_ROLES, role_keys),)


def decide_rules(role: Role, roles: Sequence[Role]) -> tuple[PolicyRule, ...] | None:
    """The rules an aggregated role is to have, each once, in the order of the names of the roles they come from.

    None: nothing to do, because it is not aggregated or has them all.
    """
    if role.aggregation_rule is None:
        return None
    rules: list[PolicyRule] = []
    for part in sorted(roles, key=lambda other: other.metadata.name):
        if part.metadata.name == role.metadata.name:
            continue
        if any(matches(selector, part.metadata.labels) for selector in role.aggregation_rule.cluster_role_selectors):
            rules.extend(rule for rule in part.rules if rule not in rules)
    return tuple(rules) if tuple(rules) != role.rules else None


def rule_documents(rules: Iterable[PolicyRule]) -> list[dict[str, Any]]:  # rules as JSON
    """As they are written: empty members left out, but for the verbs."""
    documents = [msgspec.to_builtins(rule) for rule in rules]
    return [{name: list(value) for name, value in doc.items() if value or name == "verbs"} for doc in documents]


class ClusterRoleAggregationController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, roles: ListerOf[Role]) -> None:
        self._roles = roles

    def start(self, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        assert key == KEY, f"unknown key {key}"
        roles = self._roles.list()
        actions = []
        for role in roles:
            rules = decide_rules(role, roles)
            if rules is not None:
                body = {"rules": rule_documents(rules)}
                actions.append(Patch(resource=CLUSTER_ROLES, name=role.metadata.name, body=body, type=PatchType.MERGE))
        return Result(actions=actions)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of any role tries again."""
