"""What must hold of a definition's rules in CEL before it is taken.

Rules
-----
1. A rule compiles, with `self` of the schema's type, and is a boolean; a message expression is a string.
2. `oldSelf` may be named only where old values can be found: not below the elements of a list without keys.
3. optionalOldSelf is for rules that name `oldSelf`.
4. Messages are one line; a rule of several lines needs one. A reason is one of four, a fieldPath leads somewhere.
"""

from collections.abc import Mapping
from typing import Final

from doorman.api.machinery.structural_schema import Structural
from doorman.base.errors import FieldError, invalid, not_supported, required
from doorman.base.json_types import Json
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression, uses
from doorman.semantics.cel.typing.static_types import DYN, Type
from doorman.validation.apiextensions.custom_rules import OLD, path_steps

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def rule_text_errors(rule: Mapping[str, Json], schema: Mapping[str, Json], path: str) -> list[FieldError]:
    """What is wrong with a rule before it is compiled."""
    text, message = rule.get("rule") or "", rule.get("message") or ""
    told = rule.get("messageExpression") or ""
    errors: list[FieldError] = []
    if not text.strip():
        errors.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _has_lines(message.strip()):
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _has_lines(text.strip()) and not message.strip():
        errors.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if told and not told.strip():
        errors.append(required(f"{path}.messageExpression", "messageExpression must be non-empty if specified"))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    return [*errors, *_path_errors(rule.get("fieldPath") or "", schema, f"{path}.fieldPath")]


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text


def _path_errors(text: str, schema: Mapping[str, Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if text and not text.strip():
        errors.append(invalid(path, text, "must be non-empty if specified"))
    if _has_lines(text):
        errors.append(invalid(path, text, "must not contain line breaks"))
    if text and not _leads_somewhere(text, schema):
        errors.append(invalid(path, text, "must be a valid path"))
    return errors


def _leads_somewhere(text: str, schema: Mapping[str, Json]) -> bool:
    try:
        steps = path_steps(text)
    except ValueError:
        return False
    found: Json = schema
    for step in steps:
        found = (found.get("properties") or {}).get(step, found.get("additionalProperties"))
        if not isinstance(found, dict):
            return False
    return True


def expression_errors(rule: Mapping[str, Json], schema: Structural, path: str, uncorrelatable: str) -> list[FieldError]:
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
            errors.append(invalid(f"{path}.{field}", _shown(rule), words))
            continue
        if found.name not in (wanted, "dyn"):
            what = "cel expression" if wanted == "bool" else "messageExpression"
            errors.append(invalid(f"{path}.{field}", _shown(rule), f"{what} must evaluate to a {wanted}"))
    is_compiled = not any(error.field == f"{path}.rule" for error in errors)
    if is_compiled and uses(text, OLD):
        if uncorrelatable:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
            errors.append(invalid(f"{path}.rule", text, why))
    elif rule.get("optionalOldSelf") is not None:
        why = "may not be set if oldSelf is not used in rule"
        errors.append(invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], why))
    return errors


def _shown(rule: Mapping[str, Json]) -> object:
    """Of a rule that does not compile all is shown, as it is in a server's memory."""
    return {name[0].upper() + name[1:]: value for name, value in rule.items()}
