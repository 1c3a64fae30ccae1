"""Admission webhooks' configurations, and admission policies with their bindings."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from doorman.semantics.name_syntax import path_segment_faults, qualified_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.selectors import label_selector_errors

_FAILURE_POLICIES: Final = ("Fail", "Ignore")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS: Final = ("Allow", "Deny")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_PATCH_FIELDS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_CONDITIONS_MAX: Final = 64
_PORT: Final = "port is not valid: must be between 1 and 65535, inclusive"
_DENY_AND_WARN: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_TIMEOUT: Final = "the timeout value must be between 1 and 30 seconds"
_NAME: Final = "should be a domain with at least three segments separated by dots"


def _configuration_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    names: set[str] = set()
    for index, hook in enumerate(doc.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        errors.extend(_webhook_errors(hook, path))
        name = hook.get("name", "")
        if name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    return errors


def _webhook_errors(hook: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = _name_errors(hook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        errors.extend(_rule_errors(rule, f"{path}.rules[{index}]"))
    errors.extend(_choice(hook, "failurePolicy", _FAILURE_POLICIES, path))
    errors.extend(_choice(hook, "matchPolicy", _MATCH_POLICIES, path))
    errors.extend(_choice(hook, "reinvocationPolicy", _REINVOCATION_POLICIES, path))
    if not hook.get("sideEffects"):
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}"))
    errors.extend(_choice(hook, "sideEffects", _SIDE_EFFECTS, path))
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, _TIMEOUT))
    if not any(version in _REVIEW_VERSIONS for version in hook.get("admissionReviewVersions") or ()):
        errors.append(required(f"{path}.admissionReviewVersions", f"must specify one of {', '.join(_REVIEW_VERSIONS)}"))
    errors.extend(_selector_errors(hook, path))
    errors.extend(_client_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig"))
    errors.extend(_condition_errors(hook.get("matchConditions") or (), f"{path}.matchConditions"))
    return errors


def _name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    faults = subdomain_faults(name)
    if not faults and name.count(".") < 2:
        faults = [_NAME]
    return [invalid(path, name, fault) for fault in faults]


def _rule_errors(rule: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("apiGroups", "apiVersions", "resources") if not rule.get(field)]
    operations = rule.get("operations") or ()
    if not operations:
        errors.append(required(f"{path}.operations"))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS))
    errors.extend(_choice(rule, "scope", _SCOPES, path))
    return errors


def _client_errors(config: Mapping[str, Any], path: str) -> list[FieldError]:
    url: str | None = config.get("url")
    service: Mapping[str, Any] | None = config.get("service")
    if (url is None) is (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is None:
        return _url_errors(url or "", f"{path}.url")
    errors = [required(f"{path}.service.{field}") for field in ("name", "namespace") if not service.get(field)]
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        errors.append(invalid(f"{path}.service.port", port, _PORT))
    if service.get("path") and not service["path"].startswith("/"):
        errors.append(invalid(f"{path}.service.path", service["path"], "must start with a '/'"))
    return errors


def _url_errors(url: str, path: str) -> list[FieldError]:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        return [invalid(path, url, f"url must be a valid URL: {error}")]
    faults = []
    if parts.scheme != "https":
        faults.append("'https' is the only allowed URL scheme; desired format: https://host[/path]")
    if not host:
        faults.append("host must be specified; desired format: https://host[/path]")
    if parts.username is not None:
        faults.append("user information is not permitted in the URL")
    if parts.fragment:
        faults.append("fragments are not permitted in the URL")
    if parts.query:
        faults.append("query parameters are not permitted in the URL")
    return [invalid(path, url, fault) for fault in faults]


def _condition_errors(conditions: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > _CONDITIONS_MAX:
        errors.append(invalid(path, len(conditions), f"must have at most {_CONDITIONS_MAX} items"))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        name = condition.get("name", "")
        if not name:
            errors.append(required(f"{path}[{index}].name"))
        elif name in names:
            errors.append(duplicate(f"{path}[{index}].name", name))
        names.add(name)
        if not condition.get("expression", "").strip():
            errors.append(required(f"{path}[{index}].expression"))
    return errors


def _selector_errors(found: Mapping[str, Any], path: str) -> list[FieldError]:
    fields = ("namespaceSelector", "objectSelector")
    return [error for field in fields for error in label_selector_errors(found.get(field), f"{path}.{field}")]


def _choice(found: Mapping[str, Any], field: str, supported: Sequence[str], path: str) -> list[FieldError]:
    value = found.get(field)
    return [not_supported(f"{path}.{field}", value, supported)] if value and value not in supported else []


def _policy_create(doc: Document, _context: Context) -> list[FieldError]:
    errors, spec = validate_metadata(doc), doc.get("spec") or {}
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        text = "validations or auditAnnotations must contain at least one item"
        errors.append(required("spec.validations", text))
    errors.extend(_policy_errors(spec))
    for index, validation in enumerate(spec.get("validations") or ()):
        errors.extend(_validation_errors(validation, f"spec.validations[{index}]"))
    keys: set[str] = set()
    for index, annotation in enumerate(spec.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{index}]"
        key = annotation.get("key", "")
        errors.extend(invalid(f"{path}.key", key, fault) for fault in qualified_name_faults(key))
        if key in keys:
            errors.append(duplicate(f"{path}.key", key))
        keys.add(key)
        if not annotation.get("valueExpression", "").strip():
            errors.append(required(f"{path}.valueExpression", "valueExpression is not specified"))
    return errors


def _policy_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    """What validating and mutating policies have in common."""
    errors = _choice(spec, "failurePolicy", _FAILURE_POLICIES, "spec")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        if not constraints.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        errors.extend(_match_errors(constraints, "spec.matchConstraints"))
    errors.extend(_condition_errors(spec.get("matchConditions") or (), "spec.matchConditions"))
    if (kind := spec.get("paramKind")) is not None:
        errors.extend(required(f"spec.paramKind.{field}") for field in ("apiVersion", "kind") if not kind.get(field))
    errors.extend(_variable_errors(spec.get("variables") or ()))
    return errors


def _variable_errors(variables: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, variable in enumerate(variables):
        path, name = f"spec.variables[{index}]", variable.get("name", "")
        if not name:
            errors.append(required(f"{path}.name", "name is not specified"))
        elif _IDENTIFIER.fullmatch(name) is None:
            errors.append(invalid(f"{path}.name", name, "name is not a valid CEL identifier"))
        elif name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        if not variable.get("expression", "").strip():
            errors.append(required(f"{path}.expression", "expression is not specified"))
    return errors


def _validation_errors(validation: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not validation.get("expression", "").strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    told, message = validation.get("messageExpression", ""), validation.get("message", "")
    if told and not told.strip():
        errors.append(invalid(f"{path}.messageExpression", told, "must be non-empty if specified"))
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    errors.extend(_choice(validation, "reason", _REASONS, path))
    return errors


def _mutating_policy_create(doc: Document, _context: Context) -> list[FieldError]:
    errors, spec = validate_metadata(doc), doc.get("spec") or {}
    errors.extend(_policy_errors(spec))
    if not spec.get("mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(spec.get("mutations") or ()):
        errors.extend(_mutation_errors(mutation, f"spec.mutations[{index}]"))
    if not spec.get("reinvocationPolicy"):
        errors.append(required("spec.reinvocationPolicy"))
    errors.extend(_choice(spec, "reinvocationPolicy", _REINVOCATION_POLICIES, "spec"))
    return errors


def _mutation_errors(mutation: Mapping[str, Any], path: str) -> list[FieldError]:
    kind, at = mutation.get("patchType", ""), f"{path}.patchType"
    if kind not in _PATCH_FIELDS:
        return [not_supported(at, kind, tuple(_PATCH_FIELDS)) if kind else required(at)]
    wanted = _PATCH_FIELDS[kind]
    errors = [
        invalid(f"{path}.{field}", mutation[field], f"not allowed when patchType is {kind}")
        for field in _PATCH_FIELDS.values()
        if field != wanted and mutation.get(field) is not None
    ]
    if mutation.get(wanted) is None:
        errors.append(required(f"{path}.{wanted}", f"must be specified when patchType is {kind}"))
    elif not mutation[wanted].get("expression", "").strip():
        errors.append(required(f"{path}.{wanted}.expression", "expression is not specified"))
    return errors


def _match_errors(found: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = _selector_errors(found, path)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(found.get(field) or ()):
            errors.extend(_rule_errors(rule, f"{path}.{field}[{index}]"))
    errors.extend(_choice(found, "matchPolicy", _MATCH_POLICIES, path))
    return errors


def _binding_create(doc: Document, context: Context) -> list[FieldError]:
    errors = _mutating_binding_create(doc, context)
    actions = (doc.get("spec") or {}).get("validationActions") or ()
    if not actions:
        errors.append(required("spec.validationActions", "at least one validation action is required"))
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"spec.validationActions[{index}]", action, _ACTIONS))
        elif action in actions[:index]:
            errors.append(duplicate(f"spec.validationActions[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        errors.append(invalid("spec.validationActions", list(actions), _DENY_AND_WARN))
    return errors


def _mutating_binding_create(doc: Document, _context: Context) -> list[FieldError]:
    errors, spec = validate_metadata(doc), doc.get("spec") or {}
    if not spec.get("policyName"):
        errors.append(required("spec.policyName"))
    if (ref := spec.get("paramRef")) is not None:
        errors.extend(_reference_errors(ref, "spec.paramRef"))
    errors.extend(_match_errors(spec.get("matchResources") or {}, "spec.matchResources"))
    return errors


def _reference_errors(ref: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if ref.get("name"):
        if ref.get("selector") is not None:
            text = "name and selector are mutually exclusive"
            errors.extend(forbidden(f"{path}.{field}", text) for field in ("name", "selector"))
        errors.extend(invalid(f"{path}.name", ref["name"], fault) for fault in path_segment_faults(ref["name"]))
    elif ref.get("selector") is None:
        errors.append(required(path, "one of name or selector must be specified"))
    errors.extend(label_selector_errors(ref.get("selector"), f"{path}.selector"))
    action = ref.get("parameterNotFoundAction", "")
    if action not in _NOT_FOUND_ACTIONS:
        at = f"{path}.parameterNotFoundAction"
        errors.append(not_supported(at, action, _NOT_FOUND_ACTIONS) if action else required(at))
    return errors


def _updated(create: Any) -> Validator:  # a Validator's create
    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        return distinct([*validate_metadata_update(new, old), *create(new, context)])

    return Validator(create=create, update=update)


CONFIGURATION: Final = _updated(_configuration_create)
POLICY: Final = _updated(_policy_create)
BINDING: Final = _updated(_binding_create)
MUTATING_POLICY: Final = _updated(_mutating_policy_create)
MUTATING_BINDING: Final = _updated(_mutating_binding_create)
