"""What is wrong with the expressions of a policy or a webhook configuration: found when they are written.

Rules
-----
1. An expression must compile with the names it may use; a variable may use those before it.
2. Conditions and validations are booleans, messages strings, annotations strings or null, as far as that is known.
3. A mutation by apply configuration makes an `Object`, one by JSON patch a list of `JSONPatch`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from doorman.base.errors import FieldError, invalid
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression
from doorman.semantics.cel.library.authorizer import AuthorizerValue
from doorman.semantics.cel.typing.static_types import DYN, FieldTypes, Type

HOOK_NAMES: Final[Mapping[str, Type]] = {
    "object": DYN,
    "oldObject": DYN,
    "request": DYN,
    "authorizer": Type(AuthorizerValue.cel_type),
}
POLICY_NAMES: Final[Mapping[str, Type]] = {**HOOK_NAMES, "params": DYN, "namespaceObject": DYN}
"""What is declared in match conditions of webhooks, and in policies. `variables` comes on top."""

_BOOLEAN: Final = ("bool",)
_STRING: Final = ("string",)
_NULLABLE: Final = ("string", "null_type")
_ANYTHING: Final = ()
_SHOWN: Final = {"list": "list(JSONPatch)"}
VARIABLES_SCHEMA: Final = "variables:"
_MAKERS: Final = {"Object": Type("type"), "JSONPatch": Type("type")}


class WrittenExpression(msgspec.Struct, frozen=True, kw_only=True):
    """One expression: where it stands, what it may use, what it must give (anything, when empty)."""

    path: str
    text: str
    names: Mapping[str, Type]
    gives: tuple[str, ...] = _ANYTHING


def expression_faults(doc: Mapping[str, Any], fields: FieldTypes | None = None) -> list[FieldError]:
    found: list[FieldError] = []
    for written in expressions_of(doc):
        fault = fault_of(written, fields) if written.text.strip() else ""
        if fault:
            found.append(invalid(written.path, written.text, fault))
    return found


def fault_of(written: WrittenExpression, fields: FieldTypes | None = None) -> str:
    """Empty when there is none."""
    try:
        found = compile_expression(written.text, written.names, _known_fields(fields))
    except CelError as error:
        return str(error)
    if written.gives and found.name != "dyn" and not found.name.startswith(written.gives):
        wanted = [_SHOWN.get(name, name) for name in written.gives]
        listed = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
        return f"must evaluate to {listed} but got {found.name}"
    return ""


def expressions_of(doc: Mapping[str, Any], objects: Mapping[str, Type] | None = None) -> Iterator[WrittenExpression]:
    """Every expression in a document. `objects` says more of some names than that they are there."""
    yield from _hook_expressions(doc)
    spec = doc.get("spec") or {}
    names: dict[str, Type] = {**POLICY_NAMES, **(objects or {})}
    if not spec.get("paramKind"):
        # Whoever has no parameters must not speak of them.
        names.pop("params", None)
    for index, one in enumerate(spec.get("matchConditions") or ()):
        yield WrittenExpression(
            path=f"spec.matchConditions[{index}].expression",
            text=one.get("expression", ""),
            names=names,
            gives=_BOOLEAN,
        )
    known: tuple[str, ...] = ()
    for index, one in enumerate(spec.get("variables") or ()):
        yield WrittenExpression(
            path=f"spec.variables[{index}].expression",
            text=one.get("expression", ""),
            names={**names, "variables": _variables(known)},
        )
        if one.get("expression", "").strip():
            known = (*known, one.get("name", ""))
    if spec.get("variables") or spec.get("mutations"):
        names["variables"] = _variables(known)
    yield from _validations(spec, names)
    yield from _mutations(spec, names)


def _variables(known: tuple[str, ...]) -> Type:
    """A map that has these names and no others."""
    return Type("map", schema=VARIABLES_SCHEMA + ",".join(known))


def _known_fields(fields: FieldTypes | None) -> FieldTypes:
    def found(schema: str, field: str) -> Type | None:
        if schema.startswith(VARIABLES_SCHEMA):
            return DYN if field in schema.removeprefix(VARIABLES_SCHEMA).split(",") else None
        return fields(schema, field) if fields is not None else DYN

    return found


def _hook_expressions(doc: Mapping[str, Any]) -> Iterator[WrittenExpression]:
    for outer, hook in enumerate(doc.get("webhooks") or ()):
        for index, one in enumerate(hook.get("matchConditions") or ()):
            path = f"webhooks[{outer}].matchConditions[{index}].expression"
            yield WrittenExpression(path=path, text=one.get("expression", ""), names=HOOK_NAMES, gives=_BOOLEAN)


def _validations(spec: Mapping[str, Any], names: Mapping[str, Type]) -> Iterator[WrittenExpression]:
    for index, one in enumerate(spec.get("validations") or ()):
        path = f"spec.validations[{index}]"
        yield WrittenExpression(path=f"{path}.expression", text=one.get("expression", ""), names=names, gives=_BOOLEAN)
        if one.get("messageExpression"):
            text = one["messageExpression"]
            yield WrittenExpression(path=f"{path}.messageExpression", text=text, names=names, gives=_STRING)
    for index, one in enumerate(spec.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        yield WrittenExpression(path=path, text=one.get("valueExpression", ""), names=names, gives=_NULLABLE)


def _mutations(spec: Mapping[str, Any], names: Mapping[str, Type]) -> Iterator[WrittenExpression]:
    """Rule 3."""
    making = {**names, **_MAKERS}
    for index, one in enumerate(spec.get("mutations") or ()):
        for field, gives in (("applyConfiguration", ("Object",)), ("jsonPatch", ("list",))):
            if one.get(field) is not None:
                path = f"spec.mutations[{index}].{field}.expression"
                yield WrittenExpression(path=path, text=one[field].get("expression", ""), names=making, gives=gives)
