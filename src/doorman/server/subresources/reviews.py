"""Review kinds: questions that are POSTed and answered, never stored."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.machinery.field_selectors import FieldSelectorError, FieldTerm, parse_field_selector
from doorman.base.clock import Clock
from doorman.base.errors import FieldError, bad_request, forbidden, invalid, invalid_object, required
from doorman.base.go_format import quote
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import label_value_faults, qualified_name_faults
from doorman.server.auth.authorization import Authorizer
from doorman.server.auth.node_authorizer import node_of
from doorman.server.auth.rbac_authorizer import RbacAuthorizer
from doorman.server.auth.service_account_tokens import TokenClaims
from doorman.server.request import RequestInfo

GROUPS: Final = ("authentication.k8s.io", "authorization.k8s.io")
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_ONE_OF: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class TokenReader(Protocol):
    def read_token(self, token: str) -> TokenClaims | None:
        """Whom a bearer token belongs to and for whom it was made; None when it is worth nothing."""
        ...

    @property
    def audiences(self) -> Sequence[str]:
        """This server's own."""
        ...


_WIPED: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Of metadata: what nobody can say of something that is created."""


class Reviews:
    def __init__(self, authorizer: Authorizer, rbac: RbacAuthorizer, tokens: TokenReader, clock: Clock) -> None:
        self._authorizer = authorizer
        self._rbac = rbac
        self._tokens = tokens
        self._clock = clock

    def is_about(self, kind: Kind) -> bool:
        return kind.group in GROUPS

    def answer(self, kind: Kind, namespace: str, doc: Document, user: User) -> Document:
        """The document with its status filled in."""
        spec = doc.get("spec") or {}
        doc["metadata"] = {name: value for name, value in (doc.get("metadata") or {}).items() if name not in _WIPED}
        if not kind.namespaced:
            doc["metadata"].pop("namespace", None)
        answered: Document = {
            "kind": kind.kind,
            "apiVersion": kind.group_version,
            "metadata": {**(doc.get("metadata") or {}), "creationTimestamp": None},
        }
        match kind.kind:
            case "SelfSubjectReview":
                answered["metadata"] = {"creationTimestamp": to_time(self._clock.now())}
                return {**answered, "status": {"userInfo": user_info(user)}}
            case "TokenReview":
                return {**answered, "spec": spec, "status": self._token(spec)}
            case "SelfSubjectRulesReview":
                answered["metadata"] = {"creationTimestamp": None}
                return {**answered, "spec": {}, "status": self._rules(spec, user)}
            case "SelfSubjectAccessReview":
                _check(kind, [*_attribute_errors(spec), *_selector_errors(spec), *_metadata_errors(doc)])
            case "SubjectAccessReview":
                errors = [*_subject_errors(spec), *_selector_errors(spec), *_metadata_errors(doc)]
                _check(kind, [*_attribute_errors(spec), *errors])
            case _:
                assert kind.kind == "LocalSubjectAccessReview", f"not a review: {kind.kind}"
                own = _metadata_errors(doc, " except for namespace", allowed="namespace")
                errors = [*_subject_errors(spec), *_selector_errors(spec), *own, *_local_errors(spec, namespace)]
                _check(kind, [*_attribute_errors(spec), *errors])
                answered["metadata"]["namespace"] = namespace
        if kind.kind != "SelfSubjectAccessReview":
            user = _subject(spec)
        return {**answered, "spec": spec, "status": self._access(spec, user)}

    def _access(self, spec: Document, user: User) -> Document:
        decision = self._authorizer.decide(user, asked(spec))
        status: Document = {"allowed": decision.is_allowed}
        if decision.reason:
            status["reason"] = decision.reason
        if faults := _evaluation_faults(spec):
            status["evaluationError"] = "; ".join(faults)
        return status

    def _rules(self, spec: Document, user: User) -> Document:
        if not spec.get("namespace"):
            raise bad_request("no namespace on request")
        rules, faults = self._rbac.rules_for(user, spec["namespace"])
        resources, paths = [], []
        for rule in rules:
            if rule.resources:
                shown: Document = {
                    "verbs": list(rule.verbs),
                    "apiGroups": list(rule.api_groups),
                    "resources": list(rule.resources),
                }
                if rule.resource_names:
                    shown["resourceNames"] = list(rule.resource_names)
                resources.append(shown)
            if rule.non_resource_urls:
                paths.append({"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)})
        if node_of(user):
            faults = ["node authorizer does not support user rule resolution", *faults]
        status: Document = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": bool(faults)}
        if faults:
            status["evaluationError"] = ", ".join(dict.fromkeys(faults))
        return status

    def _token(self, spec: Document) -> Document:
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        found = self._tokens.read_token(spec["token"])
        wanted = spec.get("audiences") or list(self._tokens.audiences)
        if found is None:
            return {"user": {}, "error": "invalid bearer token"}
        shared = [audience for audience in wanted if audience in found.audiences]
        if not shared:
            why = f"token audiences {_listed(found.audiences)} is invalid for the target audiences {_listed(wanted)}"
            return {"user": {}, "error": why}
        return {"authenticated": True, "user": user_info(found.user), "audiences": shared}


def user_info(user: User) -> Document:
    shown: Document = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    shown["extra"] = {name: list(values) for name, values in user.extra.items()}
    return {name: value for name, value in shown.items() if value}


def _listed(words: Sequence[str]) -> str:
    return f"[{' '.join(quote(word) for word in words)}]"


def asked(spec: Document) -> RequestInfo:
    """A review's attributes in the shape of a request."""
    attributes: Mapping[str, Any] | None = spec.get("resourceAttributes")  # JSON
    if attributes is None:
        plain = spec["nonResourceAttributes"]
        return RequestInfo(is_resource=False, verb=plain.get("verb", ""), path=plain.get("path", ""))
    return RequestInfo(
        is_resource=True,
        path="",
        selector=_selector(attributes.get("fieldSelector") or {}),
        **{name: attributes.get(name, "") for name in _ATTRIBUTES},
    )


_ATTRIBUTES: Final = ("verb", "group", "version", "resource", "subresource", "name", "namespace")


def _selector(attributes: Mapping[str, Any]) -> tuple[FieldTerm, ...]:  # FieldSelectorAttributes as JSON
    if attributes.get("rawSelector"):
        try:
            return parse_field_selector(attributes["rawSelector"])
        except FieldSelectorError:
            return ()
    return tuple(
        FieldTerm(requirement.get("key", ""), requirement["values"][0], True)
        for requirement in attributes.get("requirements", ())
        if requirement.get("operator") == "In" and len(requirement.get("values") or ()) == 1
    )


def _subject(spec: Document) -> User:
    return User(
        name=spec.get("user", ""),
        uid=spec.get("uid", ""),
        groups=tuple(spec.get("groups") or ()),
        extra={name: tuple(values or ()) for name, values in (spec.get("extra") or {}).items()},
    )


def _check(kind: Kind, errors: list[FieldError]) -> None:
    if errors:
        raise invalid_object("", kind.group, "", errors)


def _attribute_errors(spec: Document) -> list[FieldError]:
    has_resource, has_path = "resourceAttributes" in spec, "nonResourceAttributes" in spec
    return [invalid("spec", _path_attributes(spec), _ONE_OF)] if has_resource is has_path else []


def _path_attributes(spec: Document) -> Document | None:
    plain = spec.get("nonResourceAttributes")
    return None if plain is None else {name.capitalize(): plain.get(name, "") for name in ("path", "verb")}


def _selector_errors(spec: Document) -> list[FieldError]:
    attributes: Mapping[str, Any] = spec.get("resourceAttributes") or {}  # JSON
    errors: list[FieldError] = []
    for member in ("fieldSelector", "labelSelector"):
        selector = attributes.get(member)
        if selector is None:
            continue
        path = f"spec.resourceAttributes.{member}"
        raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or ()
        if raw and requirements:
            text = "may not specified at the same time as requirements"
            errors.append(invalid(f"{path}.rawSelector", raw, text))
        if not raw and not requirements:
            text = f"when {path} is specified, requirements or rawSelector is required"
            errors.append(required(f"{path}.requirements", text))
        for index, requirement in enumerate(requirements):
            at = f"{path}.requirements[{index}]"
            errors += _requirement_errors(requirement, at, is_label=member == "labelSelector")
    return errors


def _requirement_errors(requirement: Mapping[str, Any], path: str, *, is_label: bool) -> list[FieldError]:  # JSON
    """Operators that nobody knows are let through: newer clients may know more."""
    errors: list[FieldError] = []
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or ()
    if not key and not is_label:
        errors.append(required(f"{path}.key", "must be specified"))
    if operator in ("In", "NotIn") and not values:
        errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(forbidden(f"{path}.values", text))
    if is_label:
        errors += [invalid(f"{path}.key", key, fault) for fault in qualified_name_faults(key)]
        for index, value in enumerate(values):
            errors += [invalid(f"{path}.values[{index}]", value, fault) for fault in label_value_faults(value)]
    return errors


def _evaluation_faults(spec: Document) -> list[str]:
    """Selectors with operators that nobody knows are passed over."""
    faults: list[str] = []
    for member in ("fieldSelector", "labelSelector"):
        selector = (spec.get("resourceAttributes") or {}).get(member) or {}
        requirements = selector.get("requirements") or ()
        known = [one for one in requirements if one.get("operator") in _OPERATORS]
        if len(known) < len(requirements):
            part = "partially ignored" if known else "ignored"
            faults.append(f"spec.resourceAttributes.{member} {part} due to parse error")
    return faults


def _subject_errors(spec: Document) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", "", "at least one of user or group must be specified")]


def _metadata_errors(doc: Document, exception: str = "", allowed: str = "") -> list[FieldError]:
    """A question has no name, no labels: nothing is kept of it."""
    given = {name: value for name, value in (doc.get("metadata") or {}).items() if value}
    if not given.keys() - {"managedFields", "selfLink", allowed}:
        return []
    return [invalid("metadata", {**given, "creationTimestamp": None}, f"must be empty{exception}")]


def _local_errors(spec: Document, namespace: str) -> list[FieldError]:
    errors: list[FieldError] = []
    given = (spec.get("resourceAttributes") or {}).get("namespace", "")
    if "resourceAttributes" in spec and given != namespace:
        errors.append(invalid("spec.resourceAttributes.namespace", given, "must match metadata.namespace"))
    if "nonResourceAttributes" in spec:
        text = "disallowed on this kind of request"
        errors.append(invalid("spec.nonResourceAttributes", _path_attributes(spec), text))
    return errors
