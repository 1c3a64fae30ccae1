"""What an expression may speak of: the request and its objects, parameters, variables, and who may do what."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from doorman.admission.admission_review import review_of
from doorman.admission.plugin_contract import Attributes, ClusterReader, Unconvertible, VersionedResource
from doorman.admission.request_versions import versioned_attributes
from doorman.api.identity import User
from doorman.api.views.admissionregistration import MatchCondition, Variable
from doorman.base.json_types import Document
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.expression import is_true, run
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion, AuthorizerValue

AuthorizerLookup = Callable[[User, AuthorizerQuestion], AuthorizerAnswer]


def nobody_may(_user: User, _question: AuthorizerQuestion) -> AuthorizerAnswer:
    return AuthorizerAnswer(False, error="there is no authorizer")


def names_of(attributes: Attributes, authorize: AuthorizerLookup) -> Document:
    """The names a webhook's match conditions may use: everything, the name and the user included."""
    attributes.is_cacheable = False
    request = review_of(attributes, "")["request"]
    asked = AuthorizerQuestion(
        group=attributes.group,
        resource=attributes.resource,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "object": request.pop("object"),
        "oldObject": request.pop("oldObject"),
        "request": request,
        "authorizer": AuthorizerValue(lambda question: authorize(attributes.user, question), request=asked),
    }


def policy_names_of(
    attributes: Attributes, target: VersionedResource, cluster: ClusterReader, authorize: AuthorizerLookup
) -> Document:
    """The names a policy may use besides its parameter and its variables. Raises CelError."""
    attributes.is_cacheable = False
    try:
        seen = versioned_attributes(attributes, target)
    except Unconvertible as error:
        raise CelError(f"conversion to {target.kind_version}, Kind={target.kind} failed: {error}") from error
    return policy_names_seen(seen, cluster, authorize)


def policy_names_seen(seen: Attributes, cluster: ClusterReader, authorize: AuthorizerLookup) -> Document:
    """The same for a request in the version in which the policy sees it."""
    namespace = cluster.get("namespaces", "", seen.namespace) if seen.namespace else None
    return {**names_of(seen, authorize), "namespaceObject": namespace}


class Variables:
    """A policy's variables: each is evaluated when first asked for, at most once, and may use those before it."""

    cel_type: ClassVar[str] = "map"

    def __init__(self, variables: Sequence[Variable], names: Document, meter: CostBudget) -> None:
        self._expressions = {variable.name: variable.expression for variable in variables}
        self._names = {**names, "variables": self}
        self._meter = meter
        self._found: dict[str, Any] = {}  # CEL values and the errors instead of one

    def has_field(self, name: str) -> bool:
        return name in self._expressions

    def field(self, name: str) -> Any:  # a CEL value
        if name not in self._expressions:
            raise CelError(f"no such key: {name}")
        if name not in self._found:
            self._found[name] = CelError(f"variable {name} needs its own value")
            try:
                self._found[name] = run(self._expressions[name], self._names, self._meter)
            except CelError as error:
                self._found[name] = CelError(f"composited variable {name!r} fails to evaluate: {error}")
        found = self._found[name]
        if isinstance(found, CelError):
            raise found
        return found


def conditions_hold(conditions: Sequence[MatchCondition], names: Document, meter: CostBudget) -> bool:
    """Whether all are true. A false one decides, whatever another fails with. Raises CelError."""
    failure: CelError | None = None
    for condition in conditions:
        try:
            if not is_true(condition.expression, names, meter):
                return False
        except CelError as error:
            failure = failure or CelError(f"expression '{condition.expression}' resulted in error: {error}")
    if failure is not None:
        raise failure
    return True
