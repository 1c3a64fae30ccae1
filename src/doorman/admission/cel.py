"""CEL expressions of match conditions and policies: compiled once, evaluated over JSON.

The language is cel-python's work. It is loaded with the first expression, because most clusters have none and it takes
a third of a second.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

COMPILED_MAX: Final = 512


class CelError(Exception):
    """An expression that does not compile, or could not be evaluated on what it was given."""


def evaluate(expression: str, names: Mapping[str, Any]) -> Any:  # a JSON value
    """The value as JSON. Raises CelError.

    >>> evaluate("object.spec.replicas <= 5", {"object": {"spec": {"replicas": 3}}})
    True
    """
    from celpy.adapter import json_to_cel
    from celpy.evaluation import CELEvalError

    program = _program(expression)
    try:
        value = program.evaluate({name: json_to_cel(found) for name, found in names.items()})
    except (CELEvalError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise CelError(_told(error)) from error
    return _plain(value)


def is_true(expression: str, names: Mapping[str, Any]) -> bool:
    """Raises CelError, also when the value is no boolean."""
    value = evaluate(expression, names)
    if not isinstance(value, bool):
        raise CelError(f"expression '{expression}' is no boolean")
    return value


def check(expression: str) -> None:
    """Raises CelError when the expression does not compile."""
    _program(expression)


@lru_cache(maxsize=COMPILED_MAX)
def _program(expression: str) -> Any:  # a celpy.Runner
    import celpy
    from celpy.celparser import CELParseError

    environment = celpy.Environment()
    try:
        return environment.program(environment.compile(expression))
    except (CELParseError, ValueError, RecursionError) as error:
        raise CelError(f"compilation failed: {_told(error)}") from error


def _plain(value: Any) -> Any:  # CEL's own types to JSON
    import celpy

    if isinstance(value, celpy.celtypes.BoolType):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value)
    return int(value) if isinstance(value, int) else value


def _told(error: Exception) -> str:
    """The library's words, without the dump of everything the expression could have named."""
    return str(error.args[0]).partition(" (in activation")[0].strip() if error.args else type(error).__name__
