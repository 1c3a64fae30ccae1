"""Role based access control over the watch cache.

Bindings are filed by subject once; a user's grants are put together when he first asks, and each of his questions is
answered once. Everything is forgotten when any role or binding changes, not per request.

    bindings ── by subject ──► "g:system:authenticated": [system:basic-user, system:discovery], ...
    user ── grants ──► cluster wide, and by namespace; in the order in which Kubernetes looks at them
    question ── decision ──► remembered
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.identity import User
from doorman.api.views.access.rbac import PolicyRule, Role, RoleBinding, RoleRef, Subject
from doorman.api.well_known import RBAC_GROUP
from doorman.base.go_format import quote
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.streams import Stream
from doorman.registry.cache.watch_cache import WatchCache
from doorman.server.auth.rbac_rules import rule_allows
from doorman.server.request import RequestInfo

ROLES: Final = f"roles.{RBAC_GROUP}"
CLUSTER_ROLES: Final = f"clusterroles.{RBAC_GROUP}"
ROLE_BINDINGS: Final = f"rolebindings.{RBAC_GROUP}"
CLUSTER_ROLE_BINDINGS: Final = f"clusterrolebindings.{RBAC_GROUP}"

DECISIONS_MAX: Final = 100_000
DECISION_CHARS_MAX: Final = 600
"""Questions longer than this are answered but not remembered: nobody fills the memory with long names."""


class Decision(msgspec.Struct, frozen=True):
    is_allowed: bool
    reason: str = ""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """One binding as it reaches one user. `fault` says that its role is missing."""

    order: tuple[int, int, int]
    """Cluster wide before namespaced, then by binding, then by the place of the subject in it."""
    reason: str
    namespace: str
    rules: tuple[PolicyRule, ...]
    fault: str


class _Rights:
    """What one user may do."""

    __slots__ = ("by_namespace", "cluster", "decisions", "named")

    def __init__(self, grants: Sequence[Grant]) -> None:
        self.cluster = [grant for grant in grants if not grant.namespace]
        self.by_namespace: dict[str, list[Grant]] = {}
        for grant in grants:
            if grant.namespace:
                self.by_namespace.setdefault(grant.namespace, []).append(grant)
        self.named = frozenset(
            resource.partition("/")[0]
            for grant in grants
            for rule in grant.rules
            if rule.resource_names
            for resource in rule.resources
        )
        """Resources of which single objects are granted: only there a question depends on the name."""
        self.decisions: dict[tuple[str, ...], Decision] = {}

    def in_namespace(self, namespace: str) -> Iterator[Grant]:
        yield from self.cluster
        if namespace:
            yield from self.by_namespace.get(namespace, ())


class RbacAuthorizer:
    def __init__(self, cache: WatchCache) -> None:
        self._cache = cache
        self._by_subject: Mapping[str, Sequence[Grant]] | None = None
        self._rights: dict[tuple[str, tuple[str, ...]], _Rights] = {}
        self._remembered = 0
        self.edition = 0
        """Another number whenever a role or a binding has changed."""
        self._streams: dict[str, Stream] = {}
        for storage in (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            self._follow(storage)

    def decide(self, user: User, info: RequestInfo) -> Decision:
        rights = self._rights.get((user.name, user.groups))
        if rights is None:
            rights = self._rights_of(user)
        question: tuple[str, ...]
        if info.is_resource:
            name = info.named if info.resource in rights.named or "*" in rights.named else ""
            question = (info.verb, info.group, info.resource, info.subresource, info.namespace, name)
        else:
            question = (info.verb, info.path)
        known = rights.decisions.get(question)
        if known is None:
            known = _decide(rights, info)
            self._remember(rights, question, known)
        return known

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], list[str]]:
        """All rules of a user in a namespace (and everywhere), and the faults met on the way."""
        grants = list(self._rights_of(user).in_namespace(namespace))
        return [rule for grant in grants for rule in grant.rules], [grant.fault for grant in grants if grant.fault]

    def role_rules(self, ref: RoleRef, namespace: str) -> tuple[PolicyRule, ...] | None:
        """None: there is no such role."""
        if ref.kind == "ClusterRole":
            found = self._cache.collection(CLUSTER_ROLES).get(ref.name)
        else:
            found = self._cache.collection(ROLES).get(f"{namespace}/{ref.name}")
        if found is None:
            return None
        role: Role = found.view
        return role.rules

    def _rights_of(self, user: User) -> _Rights:
        key = (user.name, user.groups)
        found = self._rights.get(key)
        if found is None:
            if self._by_subject is None:
                self._by_subject = self._file()
            filed = self._by_subject
            reached: dict[tuple[int, int], Grant] = {}
            for subject in (f"u:{user.name}", *(f"g:{group}" for group in user.groups)):
                for grant in filed.get(subject, ()):
                    binding = grant.order[:2]
                    if binding not in reached or grant.order < reached[binding].order:
                        reached[binding] = grant
            found = _Rights(sorted(reached.values(), key=lambda grant: grant.order))
            self._remember_user(key, found)
        return found

    def _file(self) -> Mapping[str, Sequence[Grant]]:
        filed: dict[str, list[Grant]] = {}
        for rank, storage in enumerate((CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS)):
            for number, stored in enumerate(self._cache.collection(storage).objects.values()):
                binding: RoleBinding = stored.view
                rules = self.role_rules(binding.role_ref, binding.metadata.namespace)
                fault = "" if rules is not None else missing_role(binding.role_ref)
                for place, subject in enumerate(binding.subjects):
                    grant = Grant(
                        order=(rank, number, place),
                        reason=f"RBAC: allowed by {_described(binding, subject)}",
                        namespace=binding.metadata.namespace,
                        rules=rules or (),
                        fault=fault,
                    )
                    filed.setdefault(_subject_key(subject, binding.metadata.namespace), []).append(grant)
        return filed

    def _remember(self, rights: _Rights, question: tuple[str, ...], decision: Decision) -> None:
        if sum(map(len, question)) > DECISION_CHARS_MAX:
            return
        rights.decisions[question] = decision
        self._count()

    def _remember_user(self, key: tuple[str, tuple[str, ...]], rights: _Rights) -> None:
        self._rights[key] = rights
        self._count()

    def _count(self) -> None:
        self._remembered += 1
        if self._remembered > DECISIONS_MAX:
            self._rights.clear()
            self._remembered = 0

    def _follow(self, storage: str) -> None:
        stream = self._cache.collection(storage).follow(Selection(storage=storage), None, reader="rbac")
        self._streams[storage] = stream
        stream.on_event(self._forget)

    def _forget(self) -> None:
        for storage, stream in list(self._streams.items()):
            if stream.is_closed:
                self._follow(storage)
            stream.take()
        self.edition += 1
        self._by_subject = None
        self._rights.clear()
        self._remembered = 0


def missing_role(ref: RoleRef) -> str:
    return f"{ref.kind.lower()}.{RBAC_GROUP} {quote(ref.name)} not found"


def _decide(rights: _Rights, info: RequestInfo) -> Decision:
    faults: list[str] = []
    for grant in rights.in_namespace(info.namespace if info.is_resource else ""):
        if grant.fault:
            faults.append(grant.fault)
        elif any(rule_allows(rule, info) for rule in grant.rules):
            return Decision(True, grant.reason)
    texts = list(dict.fromkeys(faults))
    if not texts:
        return Decision(False)
    return Decision(False, f"rbac: RBAC: {texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'}")


def _subject_key(subject: Subject, namespace: str) -> str:
    match subject.kind:
        case "Group":
            return f"g:{subject.name}"
        case "ServiceAccount":
            return f"u:system:serviceaccount:{subject.namespace or namespace}:{subject.name}"
        case _:
            return f"u:{subject.name}"


def _described(binding: RoleBinding, subject: Subject) -> str:
    meta = binding.metadata
    named = quote(f"{meta.name}/{meta.namespace}" if meta.namespace else meta.name)
    who = subject.name
    if subject.kind == "ServiceAccount":
        who = f"{subject.name}/{subject.namespace or meta.namespace}"
    kind = "RoleBinding" if meta.namespace else "ClusterRoleBinding"
    return f"{kind} {named} of {binding.role_ref.kind} {quote(binding.role_ref.name)} to {subject.kind} {quote(who)}"
