"""Which names an expression mentions."""

import pytest

from doorman.semantics.cel.syntax.parser import parse
from doorman.semantics.cel.syntax.syntax_tree import mentioned


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1 + 2", set()),
        ("a.b.c", {"a"}),
        ("has(a.b) && c", {"a", "c"}),
        ("a.f(b, g(c))", {"a", "b", "c"}),
        ("[a, b]", {"a", "b"}),
        ("{a: b}", {"a", "b"}),
        ("Object{spec: a}", {"a"}),
        ("a.all(x, x == b)", {"a", "b", "x"}),
        ("a ? b : c[d]", {"a", "b", "c", "d"}),
    ],
)
def test_mentioned(text: str, names: set[str]) -> None:
    assert mentioned(parse(text)) == names
