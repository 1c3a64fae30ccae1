"""FlowSchemas: which requests go to which priority level."""

from collections.abc import Sequence
from typing import Final

from doorman.base.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part, badly
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_PRECEDENCE_MAX: Final = 10000
_METHODS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_NAMESPACES: Final = "each member of this list must be '*' or a DNS-1123 label; "


def _create(doc: Document, _context: Context) -> list[FieldError]:
    name = doc["metadata"].get("name") or ""
    return [*validate_metadata(doc), *_spec_errors(name, doc.get("spec") or {}), *condition_errors(doc)]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    if context.subresource:
        return condition_errors(new)
    return distinct([*_create(new, context), *validate_metadata_update(new, old)])


def condition_errors(doc: Document) -> list[FieldError]:
    """Of the status of both kinds of this group."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate((doc.get("status") or {}).get("conditions") or ()):
        kind, at = condition.get("type") or "", f"status.conditions[{index}].type"
        if kind in seen:
            errors.append(duplicate(at, kind))
        seen.add(kind)
        errors += [] if kind else [required(at)]
    return errors


def _spec_errors(name: str, spec: Part) -> list[FieldError]:
    errors: list[FieldError] = []
    precedence, at = spec.get("matchingPrecedence", 0), "spec.matchingPrecedence"
    if precedence <= 0:
        errors.append(invalid(at, precedence, "must be a positive value"))
    if precedence > _PRECEDENCE_MAX:
        errors.append(invalid(at, precedence, f"must not be greater than {_PRECEDENCE_MAX}"))
    if precedence == 1 and name != "exempt":
        errors.append(invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = {"Type": method.get("type") or ""}
        errors.append(not_supported("spec.distinguisherMethod.type", shown, _METHODS))
    level, at = (spec.get("priorityLevelConfiguration") or {}).get("name") or "", "spec.priorityLevelConfiguration.name"
    errors += badly(at, level, subdomain_faults(level)) if level else [required(at, "must reference a priority level")]
    for index, rule in enumerate(spec.get("rules") or ()):
        errors += _rule_errors(rule, f"spec.rules[{index}]")
    return errors


def _rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    subjects = rule.get("subjects") or ()
    if not subjects:
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    for index, subject in enumerate(subjects):
        errors += _subject_errors(subject, f"{path}.subjects[{index}]")
    resources, others = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resources and not others:
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(required(path, text))
    for index, one in enumerate(resources):
        errors += _resource_rule_errors(one, f"{path}.resourceRules[{index}]")
    for index, one in enumerate(others):
        errors += _other_rule_errors(one, f"{path}.nonResourceRules[{index}]")
    return errors


def _subject_errors(subject: Part, path: str) -> list[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        return [not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))]
    own = _SUBJECTS[kind]
    errors = _own_errors(subject.get(own), own, kind, f"{path}.{own}")
    # In upstream's order: accounts, then users, then groups.
    for other in ("ServiceAccount", "User", "Group"):
        member = _SUBJECTS[other]
        if member != own and subject.get(member) is not None:
            text = f"{member} is forbidden when subject kind is not '{other}'"
            errors.append(forbidden(f"{path}.{member}", text))
    return errors


def _own_errors(subject: Part | None, member: str, kind: str, path: str) -> list[FieldError]:
    if subject is None:
        return [required(path, f"{member} is required when subject kind is '{kind}'")]
    name = subject.get("name") or ""
    errors = [] if name else [required(f"{path}.name")]
    if kind != "ServiceAccount":
        return errors
    if name and name != "*":
        errors += badly(f"{path}.name", name, subdomain_faults(name))
    namespace = subject.get("namespace") or ""
    if namespace:
        errors += badly(f"{path}.namespace", namespace, dns_label_faults(namespace))
    else:
        errors.append(required(f"{path}.namespace", "must specify namespace for service account"))
    return errors


def _verb_errors(verbs: Sequence[str], path: str) -> list[FieldError]:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return [invalid(path, verbs, "if '*' is present, must not specify other verbs")] if len(verbs) > 1 else []
    return [] if set(verbs) <= set(_VERBS) else [not_supported(path, verbs, _VERBS)]


def _other_rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors = _verb_errors(rule.get("verbs") or (), f"{path}.verbs")
    urls, at = rule.get("nonResourceURLs") or (), f"{path}.nonResourceURLs"
    if not urls:
        errors.append(required(at, "nonResourceURLs must contain at least one value"))
    elif "*" in urls:
        if len(urls) > 1:
            errors.append(invalid(at, urls, "if '*' is present, must not specify other non-resource URLs"))
    else:
        for index, url in enumerate(urls):
            if fault := _url_fault(url):
                errors.append(invalid(f"{at}[{index}]", url, fault))
    return errors


def _url_fault(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars and not url.endswith("/*")) else ""


def _resource_rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors = _verb_errors(rule.get("verbs") or (), f"{path}.verbs")
    for member, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        names = rule.get(member) or ()
        if not names:
            errors.append(required(f"{path}.{member}", f"resource rules must supply at least one {one}"))
        elif len(names) > 1 and "*" in names:
            errors.append(invalid(f"{path}.{member}", names, f"if '*' is present, must not specify other {many}"))
    namespaces, at = rule.get("namespaces") or (), f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(at, text))
    elif "*" in namespaces:
        if len(namespaces) > 1:
            errors.append(invalid(at, namespaces, "if '*' is present, must not specify other namespaces"))
    else:
        for index, name in enumerate(namespaces):
            errors += badly(f"{at}[{index}]", name, [_NAMESPACES + fault for fault in dns_label_faults(name)])
    return errors


FLOW_SCHEMA: Final = Validator(create=_create, update=_update)
