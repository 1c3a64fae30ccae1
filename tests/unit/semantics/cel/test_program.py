"""Trees that run: names, members, what absorbs errors, and what everything costs."""

from typing import Any

import pytest

from doorman.semantics.cel.cel_errors import CelError, CostExceeded
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.macro_folds import Frame
from doorman.semantics.cel.program import build, namespaced
from doorman.semantics.cel.syntax.parser import parse
from doorman.semantics.cel.syntax.syntax_tree import Call
from doorman.semantics.cel.values import NONE, Optional


class Variables:
    """A map whose values are made when they are asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def has_field(self, name: str) -> bool:
        return name == "known"

    def field(self, name: str) -> object:
        self.asked.append(name)
        return {"deep": 1}


def run(text: str, budget: int = 10_000, **names: Any) -> Any:
    return build(parse(text))(Frame(names, CostBudget(budget)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b", 1),
        ("a.?b", Optional((1,))),
        ("a.?nope", NONE),
        ("a.?nope.deeper", NONE),
        ("a.?b.orValue(7)", 1),
        ("a.?nope.orValue(7)", 7),
        ("a.?nope.or(a.?b)", Optional((1,))),
        ("a.?b.optMap(x, x + 1)", Optional((2,))),
        ("has(a.b) && !has(a.nope)", True),
        ("[1, ?a.?nope, ?a.?b]", [1, 1]),
        ("{'x': 1, ?'y': a.?nope}", {"x": 1}),
        ("Object{spec: a.b}", {"spec": 1}),
        ("a.b == 1 ? 'yes' : nope.never", "yes"),
        ("int", "int"),
        ("cel.bind(x, a.b + 1, x * x)", 4),
    ],
)
def test_gives(text: str, expected: Any) -> None:
    found = run(text, a={"b": 1})
    assert getattr(found, "name", found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nope || true", True),
        ("true || nope", True),
        ("1 || true", True),
        ("nope && false", False),
        ("[1, 2].exists(x, x == 2 || nope)", True),
        ("[1, 2].all(x, x == 3 && nope)", False),
    ],
)
def test_operand_that_decides_absorbs_errors(text: str, expected: bool) -> None:
    assert run(text) is expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nope", "no such attribute"),
        ("a.nope", "no such key: nope"),
        ("a.b.c", "no such overload"),
        ("nope || false", "no such attribute"),
        ("{'x': 1, 'x': 2}", "x"),
        ("1 ? 2 : 3", "no such overload"),
        ("a.b.orValue(1)", "no such overload"),
    ],
)
def test_fails(text: str, why: str) -> None:
    with pytest.raises(CelError, match=why):
        run(text, a={"b": 1})


def test_values_are_made_when_they_are_asked_for() -> None:
    variables = Variables()
    assert run("has(v.known) && !has(v.other)", v=variables) is True
    assert variables.asked == []
    assert run("v.known.deep", v=variables) == 1
    assert variables.asked == ["known"]


def test_names_of_macros_end_with_them() -> None:
    assert run("[1].map(a, a + 1) == [2] && a == 'outer'", a="outer") is True
    with pytest.raises(CelError, match="no such attribute"):
        run("[1].all(x, true) && x == 1")


def test_cost_ends_everything_also_where_errors_are_absorbed() -> None:
    with pytest.raises(CostExceeded):
        run("[1, 2, 3, 4, 5, 6].all(x, x > 0) || true", budget=5)


def test_function_with_a_dotted_name() -> None:
    call, method = parse("optional.of(1)"), parse("a.size()")
    assert isinstance(call, Call)
    assert isinstance(method, Call)
    assert (namespaced(call), namespaced(method)) == ("optional.of", "")
