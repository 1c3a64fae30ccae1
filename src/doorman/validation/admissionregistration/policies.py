"""Admission policies, those that validate and those that mutate, and their bindings."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, duplicate, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_1035_faults, path_segment_faults, qualified_name_faults, subdomain_faults
from doorman.validation.admissionregistration.match_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    ExpressionFaults,
    as_validator,
    choice_errors,
    condition_errors,
    expression_errors,
    faults_of,
    rule_errors,
    selector_errors,
)
from doorman.validation.context import Context
from doorman.validation.metadata import validate_metadata
from doorman.validation.selectors import label_selector_errors

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_FIELDS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_MUTABLE: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_ANNOTATIONS_MAX: Final = 20
_DENY_AND_WARN: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def _policy_create(doc: Document, _context: Context) -> list[FieldError]:
    errors, spec, faults = validate_metadata(doc), doc.get("spec") or {}, faults_of(doc)
    errors.extend(_policy_errors(spec, faults))
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        text = "validations or auditAnnotations must contain at least one item"
        return [*errors, required("spec.validations", text), required("spec.auditAnnotations", text)]
    for index, validation in enumerate(spec.get("validations") or ()):
        errors.extend(_validation_errors(validation, f"spec.validations[{index}]", faults))
    annotations = spec.get("auditAnnotations") or ()
    if len(annotations) > _ANNOTATIONS_MAX:
        text = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        errors.append(invalid("spec.auditAnnotations", annotations, text))
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, name = f"spec.auditAnnotations[{index}]", doc["metadata"].get("name", "")
        key = annotation.get("key", "")
        whole = f"{name}/{key}"
        if name:
            errors.extend(invalid(f"{path}.key", whole, fault) for fault in qualified_name_faults(whole))
        else:
            errors.append(invalid(f"{path}.key", key, "requires metadata.name be non-empty"))
        missing = "valueExpression is not specified"
        errors.extend(expression_errors(annotation, f"{path}.valueExpression", faults, missing))
        if key in keys:
            errors.append(duplicate(f"{path}.key", key))
        keys.add(key)
    return errors


def _policy_errors(spec: Mapping[str, Any], faults: ExpressionFaults) -> list[FieldError]:
    """What validating and mutating policies have in common."""
    errors = choice_errors(spec, "failurePolicy", FAILURE_POLICIES, "spec")
    if (kind := spec.get("paramKind")) is not None:
        errors.extend(_param_kind_errors(kind, "spec.paramKind"))
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors.extend(_match_errors(constraints, "spec.matchConstraints"))
        if not constraints.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        if "mutations" in spec:
            errors.extend(_mutable_errors(constraints, "spec.matchConstraints"))
    errors.extend(condition_errors(spec.get("matchConditions") or (), "spec.matchConditions", faults))
    errors.extend(_variable_errors(spec.get("variables") or (), faults))
    return errors


def _mutable_errors(found: Mapping[str, Any], path: str) -> list[FieldError]:
    """What is deleted cannot be changed."""
    return [
        not_supported(f"{path}.resourceRules.operations", JsonText(operation), _MUTABLE)
        for rule in found.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTABLE
    ]


def _param_kind_errors(kind: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, at = kind.get("apiVersion") or "", f"{path}.apiVersion"
    if not text:
        errors.append(required(at))
    elif text.count("/") > 1:
        errors.append(invalid(at, text, f"unexpected GroupVersion string: {text}"))
    else:
        group, _, version = text.rpartition("/")
        if group and (faults := subdomain_faults(group)):
            errors.append(invalid(at, group, ",".join(faults)))
        if not version:
            errors.append(invalid(at, text, "version must be specified"))
        elif faults := dns_1035_faults(version):
            errors.append(invalid(at, version, ",".join(faults)))
    name = kind.get("kind") or ""
    if not name:
        errors.append(required(f"{path}.kind"))
    elif faults := dns_1035_faults(name.lower()):
        head = "may have mixed case, but should otherwise match: "
        errors.append(invalid(f"{path}.kind", name, head + ",".join(faults)))
    return errors


def _variable_errors(variables: Sequence[Mapping[str, Any]], faults: ExpressionFaults) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        path, name = f"spec.variables[{index}]", variable.get("name", "")
        if not name.strip():
            errors.append(required(f"{path}.name", "name is not specified"))
        elif _IDENTIFIER.fullmatch(name) is None or name in _RESERVED:
            errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
        errors.extend(expression_errors(variable, f"{path}.expression", faults, "expression is not specified"))
    return errors


def _validation_errors(validation: Mapping[str, Any], path: str, faults: ExpressionFaults) -> list[FieldError]:
    errors = expression_errors(validation, f"{path}.expression", faults, "expression is not specified")
    told, message = validation.get("messageExpression", ""), validation.get("message", "")
    if told and not told.strip():
        errors.append(invalid(f"{path}.messageExpression", told, "must be non-empty if specified"))
    elif f"{path}.messageExpression" in faults:
        errors.append(faults[f"{path}.messageExpression"])
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    errors.extend(choice_errors(validation, "reason", _REASONS, path))
    return errors


def _mutating_policy_create(doc: Document, _context: Context) -> list[FieldError]:
    errors, spec, faults = validate_metadata(doc), doc.get("spec") or {}, faults_of(doc)
    errors.extend(_policy_errors({"mutations": [], **spec}, faults))
    if not spec.get("mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(spec.get("mutations") or ()):
        errors.extend(_mutation_errors(mutation, f"spec.mutations[{index}]", faults))
    if not spec.get("reinvocationPolicy"):
        errors.append(required("spec.reinvocationPolicy"))
    errors.extend(choice_errors(spec, "reinvocationPolicy", REINVOCATION_POLICIES, "spec"))
    return errors


def _mutation_errors(mutation: Mapping[str, Any], path: str, faults: ExpressionFaults) -> list[FieldError]:
    kind, at = mutation.get("patchType", ""), f"{path}.patchType"
    if kind not in _PATCH_FIELDS:
        return [not_supported(at, JsonText(kind), tuple(_PATCH_FIELDS)) if kind else required(at)]
    wanted = _PATCH_FIELDS[kind]
    if mutation.get(wanted) is None:
        errors = [required(f"{path}.{wanted}", f"must be specified when patchType is {kind}")]
    else:
        errors = expression_errors(mutation[wanted], f"{path}.{wanted}.expression", faults)
    return [
        *errors,
        *(
            invalid(f"{path}.{field}", f"{{{field}}}", f"must not be specified when patchType is {kind}")
            for field in _PATCH_FIELDS.values()
            if field != wanted and mutation.get(field) is not None
        ),
    ]


def _match_errors(found: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = choice_errors(found, "matchPolicy", MATCH_POLICIES, path)
    errors.extend(selector_errors(found, path))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(found.get(field) or ()):
            errors.extend(rule_errors(rule, f"{path}.{field}[{index}]"))
    return errors


def _binding_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = _any_binding_errors(doc)
    actions = (doc.get("spec") or {}).get("validationActions") or ()
    if not actions:
        errors.append(required("spec.validationActions", "at least one validation action is required"))
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"spec.validationActions[{index}]", JsonText(action), _ACTIONS))
        elif action in actions[:index]:
            errors.append(duplicate(f"spec.validationActions[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        errors.append(invalid("spec.validationActions", list(actions), _DENY_AND_WARN))
    return errors


def _mutating_binding_create(doc: Document, _context: Context) -> list[FieldError]:
    resources = (doc.get("spec") or {}).get("matchResources") or {}
    return [*_any_binding_errors(doc), *_mutable_errors(resources, "spec.matchResources")]


def _any_binding_errors(doc: Document) -> list[FieldError]:
    errors, spec = validate_metadata(doc), doc.get("spec") or {}
    name = spec.get("policyName") or ""
    if not name:
        errors.append(required("spec.policyName"))
    errors.extend(invalid("spec.policyName", name, fault) for fault in (subdomain_faults(name) if name else ()))
    if (ref := spec.get("paramRef")) is not None:
        errors.extend(_reference_errors(ref, "spec.paramRef"))
    errors.extend(_match_errors(spec.get("matchResources") or {}, "spec.matchResources"))
    return errors


def _reference_errors(ref: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, selector, text = ref.get("name") or "", ref.get("selector"), "name and selector are mutually exclusive"
    if name:
        errors.extend(invalid(f"{path}.name", name, fault) for fault in path_segment_faults(name))
        errors.extend([forbidden(f"{path}.name", text)] if selector is not None else ())
    if selector is not None:
        errors.extend(label_selector_errors(selector, f"{path}.selector"))
        errors.extend([forbidden(f"{path}.selector", text)] if name else ())
    elif not name:
        errors.append(required(path, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction", "")
    if action not in _NOT_FOUND_ACTIONS:
        at = f"{path}.parameterNotFoundAction"
        errors.append(not_supported(at, JsonText(action), _NOT_FOUND_ACTIONS) if action else required(at))
    return errors


POLICY: Final = as_validator(_policy_create)
BINDING: Final = as_validator(_binding_create)
MUTATING_POLICY: Final = as_validator(_mutating_policy_create)
MUTATING_BINDING: Final = as_validator(_mutating_binding_create)
