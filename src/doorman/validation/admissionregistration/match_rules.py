"""What webhooks' configurations and admission policies share: rules, selectors, match conditions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, duplicate, invalid, not_supported, required, too_many
from doorman.base.json_types import Document
from doorman.semantics.cel.policy_expressions import expression_faults
from doorman.semantics.name_syntax import path_segment_faults, qualified_name_faults
from doorman.validation.context import Context, CreateValidator, Validator, distinct
from doorman.validation.metadata import validate_metadata_update
from doorman.validation.selectors import label_selector_errors

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_CONDITIONS_MAX: Final = 64

ExpressionFaults = Mapping[str, FieldError]
"""Of expressions, by where they stand."""


def faults_of(doc: Document) -> ExpressionFaults:
    """Expressions that do not compile, by where they stand."""
    return {error.field: error for error in expression_faults(doc)}


def rule_errors(rule: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names = rule.get("resourceNames") or ()
    for index, name in enumerate(names):
        at = f"{path}.resourceNames[{index}]"
        errors += [invalid(at, name, fault) for fault in path_segment_faults(name)]
        errors += [duplicate(at, name)] if name in names[:index] else []
    operations = rule.get("operations") or ()
    errors += _wildcard_errors(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(not_supported(f"{path}.operations[{index}]", JsonText(operation), _OPERATIONS))
    errors += _wildcard_errors(rule.get("apiGroups") or (), f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or ()
    errors += _wildcard_errors(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _resource_errors(rule.get("resources") or (), f"{path}.resources")
    errors.extend(choice_errors(rule, "scope", _SCOPES, path))
    return errors


def _wildcard_errors(names: Sequence[str], path: str, words: str) -> list[FieldError]:
    if not names:
        return [required(path)]
    is_mixed = len(names) > 1 and "*" in names
    return [invalid(path, names, f"if '*' is present, must not specify other {words}")] if is_mixed else []


def _resource_errors(resources: Sequence[str], path: str) -> list[FieldError]:
    """Resources, and subresources behind a slash; a star stands for all of either."""
    errors = [] if resources else [required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    has_plain = False
    for index, name in enumerate(resources):
        at = f"{path}[{index}]"
        if not name:
            errors.append(required(at))
            continue
        resource, slash, part = name.partition("/")
        if not slash:
            has_plain = name != "*"
            continue
        if resource in whole:
            errors.append(invalid(at, name, f"if '{resource}/*' is present, must not specify {name}"))
        if part in everywhere:
            errors.append(invalid(at, name, f"if '*/{part}' is present, must not specify {name}"))
        whole |= {resource} if part == "*" else set()
        everywhere |= {part} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and has_plain:
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, text))
    return errors


def condition_errors(conditions: Sequence[Mapping[str, Any]], path: str, faults: ExpressionFaults) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > _CONDITIONS_MAX:
        errors.append(too_many(path, len(conditions), _CONDITIONS_MAX))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        name, at = condition.get("name", ""), f"{path}[{index}].name"
        errors += expression_errors(condition, f"{path}[{index}].expression", faults)
        if not name:
            errors.append(required(at))
        else:
            errors += [invalid(at, name, fault) for fault in qualified_name_faults(name)]
            errors += [duplicate(at, name)] if name in names else []
        names.add(name)
    return errors


def expression_errors(
    holder: Mapping[str, Any], path: str, faults: ExpressionFaults, missing: str = ""
) -> list[FieldError]:
    """An expression that must be there, and compile."""
    member = path.rpartition(".")[2]
    if not holder.get(member, "").strip():
        return [required(path, missing)]
    return [faults[path]] if path in faults else []


def selector_errors(found: Mapping[str, Any], path: str) -> list[FieldError]:
    fields = ("namespaceSelector", "objectSelector")
    return [error for field in fields for error in label_selector_errors(found.get(field), f"{path}.{field}")]


def choice_errors(found: Mapping[str, Any], field: str, supported: Sequence[str], path: str) -> list[FieldError]:
    value = found.get(field)
    is_known = value is None or value in supported
    return [] if is_known else [not_supported(f"{path}.{field}", JsonText(value), supported)]


def as_validator(create: CreateValidator) -> Validator:
    """An update makes the checks of a create, too."""

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        return distinct([*validate_metadata_update(new, old), *create(new, context)])

    return Validator(create=create, update=update)
