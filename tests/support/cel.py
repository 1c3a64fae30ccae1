"""Expressions that are checked and then evaluated."""

from doorman.semantics.cel.expression import compile_expression, declared, evaluate


def evaluated(expression: str, **names: object) -> object:
    compile_expression(expression, declared(names))
    return evaluate(expression, names)
