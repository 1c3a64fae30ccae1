"""What must hold of a definition's rules in CEL before it is taken.

Rules
-----
1. A rule compiles, with `self` of the schema's type, and is a boolean; a message expression is a string.
2. `oldSelf` may be named only where old values can be found: not below the elements of a list without keys.
3. optionalOldSelf is for rules that name `oldSelf`.
4. Messages are one line; a rule of several lines needs one. A reason is one of four, a fieldPath leads somewhere.
"""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.machinery.structural_schema import Structural
from doorman.base.errors import FieldError, invalid, not_supported, required
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression, uses
from doorman.semantics.cel.typing.static_types import DYN, Type
from doorman.validation.apiextensions.custom_rules import OLD, path_steps

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")

Json = Any  # any JSON value


def rule_check_errors(schema: Structural, path: str) -> list[FieldError]:
    """Of a whole schema; `path` is where it stands in the definition."""
    errors: list[FieldError] = []
    _walk(schema, path, errors, uncorrelatable="")
    return errors


def _walk(schema: Structural, path: str, errors: list[FieldError], *, uncorrelatable: str) -> None:
    if not schema.has_rules:
        return
    for index, rule in enumerate(schema.source.get("x-kubernetes-validations", ())):
        errors.extend(_rule_errors(rule, schema, f"{path}.x-kubernetes-validations[{index}]", uncorrelatable))
    for name, inner in schema.properties.items():
        _walk(inner, f"{path}.properties[{name}]", errors, uncorrelatable=uncorrelatable)
    if isinstance(schema.additional, Structural):
        _walk(schema.additional, f"{path}.additionalProperties", errors, uncorrelatable=uncorrelatable)
    if schema.items is not None:
        has_keys = schema.source.get("x-kubernetes-list-type") == "map"
        _walk(schema.items, f"{path}.items", errors, uncorrelatable=uncorrelatable or ("" if has_keys else path))


def _rule_errors(rule: Mapping[str, Json], schema: Structural, path: str, uncorrelatable: str) -> list[FieldError]:
    text, message = rule.get("rule", ""), rule.get("message", "")
    told = rule.get("messageExpression", "")
    errors: list[FieldError] = []
    if not text.strip():
        errors.append(required(f"{path}.rule", "rule is not specified"))
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    if "\n" in text.strip() and not message and not told:
        errors.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if told and not told.strip():
        errors.append(required(f"{path}.messageExpression", "messageExpression must be non-empty if specified"))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    errors.extend(_path_errors(rule.get("fieldPath"), schema, f"{path}.fieldPath"))
    if text.strip():
        errors.extend(_expression_errors(rule, schema, path, uncorrelatable))
    return errors


def _path_errors(text: str | None, schema: Structural, path: str) -> list[FieldError]:
    if text is None:
        return []
    if not text.strip():
        return [invalid(path, text, "fieldPath must be non-empty if specified")]
    if "\n" in text:
        return [invalid(path, text, "fieldPath must not contain line breaks")]
    try:
        steps = path_steps(text)
    except ValueError as error:
        return [invalid(path, text, f"fieldPath must be a valid path: {error}")]
    for step in steps:
        inner = schema.properties.get(step)
        if inner is None and isinstance(schema.additional, Structural):
            inner = schema.additional
        if inner is None:
            return [invalid(path, text, "fieldPath must be a valid path: does not refer to a valid field")]
        schema = inner
    return []


def _expression_errors(
    rule: Mapping[str, Json], schema: Structural, path: str, uncorrelatable: str
) -> list[FieldError]:
    from doorman.semantics.cel.typing.schema_types import SchemaTypes

    text, told = rule["rule"], rule.get("messageExpression", "")
    known = SchemaTypes()
    own = known.of(schema)
    names: dict[str, Type] = {"self": own, OLD: DYN if rule.get("optionalOldSelf") else own}
    errors: list[FieldError] = []
    for field, expression, wanted in (("rule", text, "bool"), ("messageExpression", told, "string")):
        if not expression.strip():
            continue
        try:
            found = compile_expression(expression, names, known.fields)
        except CelError as error:
            words = str(error) if field == "rule" else f"messageExpression {error}"
            errors.append(invalid(f"{path}.{field}", _shown(rule, field), words))
            continue
        if found.name not in (wanted, "dyn"):
            text_wanted = "cel expression must evaluate to a bool" if wanted == "bool" else "must evaluate to a string"
            errors.append(invalid(f"{path}.{field}", _shown(rule, field), text_wanted))
    if not errors:
        if uses(text, OLD):
            if uncorrelatable:
                why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
                errors.append(invalid(f"{path}.rule", text, why))
        elif rule.get("optionalOldSelf"):
            why = "may not be set if oldSelf is not used in rule"
            errors.append(invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], why))
    return errors


def _shown(rule: Mapping[str, Json], field: str) -> object:
    """Of a rule that does not compile all is shown, as it is in a server's memory; of a message its text."""
    if field != "rule":
        return rule.get(field, "")
    return {name[0].upper() + name[1:]: value for name, value in rule.items()}
