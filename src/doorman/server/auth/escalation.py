"""Nobody hands out rights he does not have, unless he holds the verb `escalate` (roles) or `bind` (bindings)."""

from typing import Final

import msgspec

from doorman.api.identity import MASTERS, User
from doorman.api.kinds import Kind
from doorman.api.views.access.rbac import PolicyRule, RoleRef
from doorman.api.views.meta import to_view
from doorman.api.well_known import RBAC_GROUP
from doorman.base.errors import ApiError, GroupResource, forbidden_request, not_found
from doorman.base.go_format import quote
from doorman.base.json_types import Document, Transform
from doorman.server.auth.authorization import Authorizer
from doorman.server.auth.rbac_authorizer import RbacAuthorizer
from doorman.server.auth.rbac_rules import missing_rights, quoted, said
from doorman.server.request import RequestInfo

_EVERYTHING: Final = (
    PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
    PolicyRule(verbs=("*",), non_resource_urls=("*",)),
)
_GC_FIELDS: Final = ("ownerReferences", "finalizers", "resourceVersion", "managedFields")


class EscalationGuard:
    def __init__(self, authorizer: Authorizer, rbac: RbacAuthorizer) -> None:
        self._authorizer = authorizer
        self._rbac = rbac

    def is_about(self, kind: Kind) -> bool:
        return kind.group == RBAC_GROUP

    def on(self, kind: Kind, namespace: str, transform: Transform, user: User) -> Transform:
        """The same transform, which refuses when it would give away more than the user has."""
        if not self.is_about(kind):
            return transform

        def guarded(old: Document) -> Document:
            before = msgspec.json.decode(msgspec.json.encode(old))
            new = transform(old)
            self.check(kind, namespace, new, before, user)
            return new

        return guarded

    def check_create(self, user: User, info: RequestInfo) -> None:
        """PUT and apply on what is not there create: having the right to update is not enough."""
        self._authorizer.check(user, msgspec.structs.replace(info, verb="create"))

    def check(self, kind: Kind, namespace: str, new: Document, old: Document | None, user: User) -> None:
        if MASTERS in user.groups or (old is not None and _differs_only_for_collection(new, old)):
            return
        name = (new.get("metadata") or {}).get("name", "")
        if kind.resource in ("rolebindings", "clusterrolebindings"):
            self._check_binding(kind, namespace, name, new, user)
        else:
            self._check_role(kind, namespace, name, new, old, user)

    def _check_role(
        self, kind: Kind, namespace: str, name: str, new: Document, old: Document | None, user: User
    ) -> None:
        if self._may(user, "escalate", kind.resource, name if old is not None else "", namespace):
            return
        self._confirm(kind, namespace, name, _rules(new), user)
        if new.get("aggregationRule") or (old or {}).get("aggregationRule"):
            held, _ = self._rbac.rules_for(user, "")
            if missing_rights(held, _EVERYTHING):
                why = "must have cluster-admin privileges to use an aggregationRule"
                raise forbidden_request(kind.named, name, why)

    def _check_binding(self, kind: Kind, namespace: str, name: str, new: Document, user: User) -> None:
        ref = to_view(new.get("roleRef") or {}, RoleRef)
        resource = {"ClusterRole": "clusterroles", "Role": "roles"}.get(ref.kind)
        if resource is None:
            return  # validation says what is wrong with it
        if self._may(user, "bind", resource, ref.name, namespace):
            return
        rules = self._rbac.role_rules(ref, namespace)
        if rules is None:
            raise not_found(GroupResource(RBAC_GROUP, resource.removesuffix("s")), ref.name)
        self._confirm(kind, namespace, name, rules, user)

    def _may(self, user: User, verb: str, resource: str, name: str, namespace: str) -> bool:
        info = RequestInfo(
            is_resource=True,
            verb=verb,
            path="",
            group=RBAC_GROUP,
            version="v1",
            namespace=namespace,
            resource=resource,
            name=name,
        )
        return self._authorizer.decide(user, info).is_allowed

    def _confirm(self, kind: Kind, namespace: str, name: str, rules: tuple[PolicyRule, ...], user: User) -> None:
        held, faults = self._rbac.rules_for(user, namespace)
        missing = missing_rights(held, rules)
        if missing:
            raise _escalation(kind, name, user, missing, faults)


def _escalation(kind: Kind, name: str, user: User, missing: list[PolicyRule], faults: list[str]) -> ApiError:
    why = (
        f"user {quote(user.name)} (groups=[{quoted(user.groups)}]) is attempting to grant RBAC permissions "
        "not currently held:\n" + "\n".join(said(missing))
    )
    if faults:
        why += f"; resolution errors: [{', '.join(faults)}]"
    return forbidden_request(kind.named, name, why)


def _rules(doc: Document) -> tuple[PolicyRule, ...]:
    return to_view(doc.get("rules") or [], tuple[PolicyRule, ...])


def _differs_only_for_collection(new: Document, old: Document) -> bool:
    """Whether only what the garbage collector needs has changed: that must never be in anybody's way."""
    return _without_gc(new) == _without_gc(old)


def _without_gc(doc: Document) -> Document:
    rest = {name: value for name, value in doc.items() if name not in ("metadata", "kind", "apiVersion")}
    metadata = {name: value for name, value in (doc.get("metadata") or {}).items() if name not in _GC_FIELDS}
    return {**rest, "metadata": metadata}
