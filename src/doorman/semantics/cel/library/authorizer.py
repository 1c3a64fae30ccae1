"""`authorizer`: may whoever asks, or some service account, do this or that?"""

from collections.abc import Callable
from typing import ClassVar, Final

import msgspec

from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.overloads import Table, table

CHECK_COST: Final = 35_000
"""Of one check, as Kubernetes reckons: an authorizer may be far away."""


class AuthorizerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What may be done to what. With a path it is not about a resource."""

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    account: tuple[str, str] | None = None
    """Namespace and name of the service account it is about; None: whoever asks."""


class AuthorizerAnswer(msgspec.Struct, frozen=True):
    is_allowed: bool
    reason: str = ""
    error: str = ""


AuthorizerCheck = Callable[[AuthorizerQuestion], AuthorizerAnswer]


class AuthorizerValue(msgspec.Struct, frozen=True):
    look_up: AuthorizerCheck
    account: tuple[str, str] | None = None
    request: AuthorizerQuestion | None = None
    cel_type: ClassVar[str] = "kubernetes.authorization.Authorizer"

    def has_field(self, name: str) -> bool:
        return name == "requestResource" and self.request is not None

    def field(self, _name: str) -> "ResourceCheck":
        assert self.request is not None, "asked for after has_field"
        return ResourceCheck(self.look_up, self.request)


class PathCheck(msgspec.Struct, frozen=True):
    look_up: AuthorizerCheck
    question: AuthorizerQuestion
    cel_type: ClassVar[str] = "kubernetes.authorization.PathCheck"


class GroupCheck(msgspec.Struct, frozen=True):
    look_up: AuthorizerCheck
    question: AuthorizerQuestion
    cel_type: ClassVar[str] = "kubernetes.authorization.GroupCheck"


class ResourceCheck(msgspec.Struct, frozen=True):
    look_up: AuthorizerCheck
    question: AuthorizerQuestion
    cel_type: ClassVar[str] = "kubernetes.authorization.ResourceCheck"


class DecisionValue(msgspec.Struct, frozen=True):
    answer: AuthorizerAnswer
    cel_type: ClassVar[str] = "kubernetes.authorization.Decision"


def _path(_meter: CostBudget, authorizer: AuthorizerValue, path: str) -> PathCheck:
    return PathCheck(authorizer.look_up, AuthorizerQuestion(path=path, account=authorizer.account))


def _group(_meter: CostBudget, authorizer: AuthorizerValue, group: str) -> GroupCheck:
    return GroupCheck(authorizer.look_up, AuthorizerQuestion(group=group, account=authorizer.account))


def _account(_meter: CostBudget, authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    return AuthorizerValue(authorizer.look_up, (namespace, name))


def _resource(_meter: CostBudget, found: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(found.look_up, msgspec.structs.replace(found.question, resource=resource))


def _narrowed(field: str) -> Callable[..., ResourceCheck]:
    def apply(_meter: CostBudget, found: ResourceCheck, value: str) -> ResourceCheck:
        return ResourceCheck(found.look_up, msgspec.structs.replace(found.question, **{field: value}))

    return apply


def _check(meter: CostBudget, found: PathCheck | ResourceCheck, verb: str) -> DecisionValue:
    meter.charge(CHECK_COST)
    return DecisionValue(found.look_up(msgspec.structs.replace(found.question, verb=verb)))


_A: Final = AuthorizerValue.cel_type
_P: Final = PathCheck.cel_type
_G: Final = GroupCheck.cel_type
_R: Final = ResourceCheck.cel_type
_D: Final = DecisionValue.cel_type
_NARROWINGS: Final = {
    "subresource": "subresource",
    "namespace": "namespace",
    "name": "name",
    "fieldSelector": "field_selector",
    "labelSelector": "label_selector",
}

METHODS: Final[Table] = table(
    ("path", (_A, "string"), _P, _path),
    ("group", (_A, "string"), _G, _group),
    ("serviceAccount", (_A, "string", "string"), _A, _account),
    ("resource", (_G, "string"), _R, _resource),
    *((name, (_R, "string"), _R, _narrowed(field)) for name, field in _NARROWINGS.items()),
    ("check", (_P, "string"), _D, _check),
    ("check", (_R, "string"), _D, _check),
    ("allowed", (_D,), "bool", lambda _m, decision: decision.answer.is_allowed),
    ("reason", (_D,), "string", lambda _m, decision: decision.answer.reason),
    ("errored", (_D,), "bool", lambda _m, decision: bool(decision.answer.error)),
    ("error", (_D,), "string", lambda _m, decision: decision.answer.error),
)
