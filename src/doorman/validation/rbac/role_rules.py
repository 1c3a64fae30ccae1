"""Roles and who has them."""

from collections.abc import Callable
from typing import Final

from doorman.api.well_known import RBAC_GROUP
from doorman.base.errors import FieldError, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import path_segment_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part, badly, each, fixed, named, needed
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.selectors import label_selector_errors

_AGGREGATION: Final = "aggregationRule.clusterRoleSelectors"


def rule_errors(rule: Part, path: str, *, is_namespaced: bool) -> list[FieldError]:
    errors = needed(rule, "verbs", path, "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        if is_namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            errors.append(invalid(f"{path}.nonResourceURLs", urls, text))
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(f"{path}.nonResourceURLs", urls, text))
        return errors
    errors += needed(rule, "apiGroups", path, "resource rules must supply at least one api group")
    return [*errors, *needed(rule, "resources", path, "resource rules must supply at least one resource")]


def _role_errors(doc: Document) -> list[FieldError]:
    return each(doc.get("rules"), "rules", lambda rule, at: rule_errors(rule, at, is_namespaced=True))


def _cluster_role_errors(doc: Document) -> list[FieldError]:
    errors = each(doc.get("rules"), "rules", lambda rule, at: rule_errors(rule, at, is_namespaced=False))
    aggregation = doc.get("aggregationRule")
    if aggregation is None:
        return errors
    selectors = aggregation.get("clusterRoleSelectors")
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required(_AGGREGATION, text))
    for index, selector in enumerate(selectors or ()):
        at = f"{_AGGREGATION}[{index}]"
        if found := label_selector_errors(selector, at):
            errors += [*found, invalid(at, None, "invalid label selector.")]
    return errors


def _binding_errors(doc: Document, *, is_namespaced: bool) -> list[FieldError]:
    reference: Part = doc.get("roleRef") or {}
    errors: list[FieldError] = []
    group, kind = reference.get("apiGroup") or "", reference.get("kind") or ""
    if group != RBAC_GROUP:
        errors.append(not_supported("roleRef.apiGroup", group, (RBAC_GROUP,)))
    kinds = ("Role", "ClusterRole") if is_namespaced else ("ClusterRole",)
    if kind not in kinds:
        errors.append(not_supported("roleRef.kind", kind, kinds))
    errors += named(reference, "name", "roleRef", path_segment_faults)
    return [
        *errors,
        *each(doc.get("subjects"), "subjects", lambda one, at: _subject_errors(one, at, is_namespaced=is_namespaced)),
    ]


def _subject_errors(subject: Part, path: str, *, is_namespaced: bool) -> list[FieldError]:
    name, group, kind = (subject.get(member) or "" for member in ("name", "apiGroup", "kind"))
    errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if name:
            errors += badly(f"{path}.name", name, subdomain_faults(name))
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not is_namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != RBAC_GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, (RBAC_GROUP,)))
    else:
        errors.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors


def _validator(check: Callable[[Document], list[FieldError]], *fields: str) -> Validator:
    def create(doc: Document, _context: Context) -> list[FieldError]:
        return [*validate_metadata(doc, path_segment_faults), *check(doc)]

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        errors = [*create(new, context), *validate_metadata_update(new, old)]
        return distinct([*errors, *(error for name in fields for error in fixed(new, old, name, ""))])

    return Validator(create=create, update=update)


ROLE: Final = _validator(_role_errors)
CLUSTER_ROLE: Final = _validator(_cluster_role_errors)
ROLE_BINDING: Final = _validator(lambda doc: _binding_errors(doc, is_namespaced=True), "roleRef")
CLUSTER_ROLE_BINDING: Final = _validator(lambda doc: _binding_errors(doc, is_namespaced=False), "roleRef")
