"""Expressions as the rest of the system uses them: compiled once, evaluated over JSON, within a budget.

The language is loaded with the first expression: most clusters have none, and its libraries would be a tenth of the
time it takes to start.

>>> evaluate("object.spec.replicas <= 5", {"object": {"spec": {"replicas": 3}}})
True
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from doorman.semantics.cel.cel_errors import CelError, CompileError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.typing.static_types import DYN, FieldTypes, Type
from doorman.semantics.cel.values import Value, from_json

if TYPE_CHECKING:
    from doorman.semantics.cel.macro_folds import Interpretable
    from doorman.semantics.cel.syntax.syntax_tree import Expr

COMPILED_MAX: Final = 1024


def compile_expression(text: str, names: Mapping[str, Type], fields: FieldTypes | None = None) -> Type:
    """The type of the expression's value, as far as it is known. Raises CelError when it does not compile."""
    from doorman.semantics.cel.typing.type_checker import check

    try:
        return check(text, _tree(text), names, fields)
    except CompileError as error:
        raise CelError(f"compilation failed: {error}") from error
    except RecursionError as error:
        raise CelError("compilation failed: expression recursion limit exceeded") from error


def declared(names: Iterable[str]) -> dict[str, Type]:
    """Names of which nothing more is known."""
    return dict.fromkeys(names, DYN)


def run(text: str, names: Mapping[str, Value], meter: CostBudget | None = None) -> Value:
    """The value, as CEL has it. `names` are CEL values or JSON. Raises CelError."""
    from doorman.semantics.cel.macro_folds import Frame

    frame = Frame({name: from_json(value) for name, value in names.items()}, meter or CostBudget())
    try:
        return _program(text)(frame)
    except CompileError as error:
        raise CelError(f"compilation failed: {error}") from error
    except RecursionError as error:
        raise CelError("expression recursion limit exceeded") from error


def evaluate(text: str, names: Mapping[str, Value], meter: CostBudget | None = None) -> Value:
    """The value as JSON. Raises CelError."""
    from doorman.semantics.cel.value_text import to_json

    return to_json(run(text, names, meter))


def is_true(text: str, names: Mapping[str, Value], meter: CostBudget | None = None) -> bool:
    """Raises CelError, also when the value is no boolean."""
    value = run(text, names, meter)
    if not isinstance(value, bool):
        raise CelError(f"expression '{text}' is no boolean")
    return value


@lru_cache(maxsize=COMPILED_MAX)
def uses(text: str, name: str) -> bool:
    """Whether an expression speaks of a name at all. One that does not compile speaks of nothing."""
    from doorman.semantics.cel.syntax.syntax_tree import mentioned

    try:
        return name in mentioned(_tree(text))
    except CompileError:
        return False


def tree_of(text: str) -> "Expr":
    """The same tree for the same text, as long as it is remembered. Raises CompileError."""
    return _tree(text)


@lru_cache(maxsize=COMPILED_MAX)
def _tree(text: str) -> "Expr":
    from doorman.semantics.cel.syntax.parser import parse

    return parse(text)


@lru_cache(maxsize=COMPILED_MAX)
def _program(text: str) -> "Interpretable":
    from doorman.semantics.cel.program import build

    return build(_tree(text))
