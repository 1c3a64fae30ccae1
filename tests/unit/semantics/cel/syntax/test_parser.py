"""From text to a tree: what binds tighter, what macros become, and where a fault is."""

import pytest

from doorman.semantics.cel.cel_errors import CompileError
from doorman.semantics.cel.syntax import syntax_tree as tree
from doorman.semantics.cel.syntax.parser import CHAIN_MAX, DEPTH_MAX, TEXT_CHARS_MAX, parse


def shown(node: tree.Expr) -> str:
    """A tree in brackets."""
    match node:
        case tree.Literal():
            return repr(node.value) + ("u" if node.kind == "uint" else "")
        case tree.Ident():
            return node.name
        case tree.Select():
            return f"{shown(node.operand)}.{'?' if node.is_optional else ''}{node.field}"
        case tree.Has():
            return f"has({shown(node.operand)}.{node.field})"
        case tree.Call():
            target = f"{shown(node.target)}." if node.target is not None else ""
            return f"{target}{node.name}({', '.join(map(shown, node.arguments))})"
        case tree.Elements():
            items = [("?" if at in node.optional else "") + shown(item) for at, item in enumerate(node.items)]
            return f"[{', '.join(items)}]"
        case tree.Entries():
            return "{" + ", ".join(f"{shown(key)}: {shown(value)}" for key, value in node.items) + "}"
        case tree.Message():
            return node.name + "{" + ", ".join(f"{name}: {shown(value)}" for name, value in node.fields) + "}"
        case tree.Fold():
            return f"{node.macro}<{shown(node.over)}; {' '.join(node.names)}; {', '.join(map(shown, node.parts))}>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "_+_(1, _*_(2, 3))"),
        ("(1 + 2) * 3", "_*_(_+_(1, 2), 3)"),
        ("1 - 2 - 3", "_-_(_-_(1, 2), 3)"),
        ("a || b && c", "_||_(a, _&&_(b, c))"),
        ("a == b || !c", "_||_(_==_(a, b), !_(c))"),
        ("x in [1, 2u]", "@in(x, [1, 2u])"),
        ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
        ("-x.y", "-_(x.y)"),
        ("-5", "-5"),
        ("a.b(1).c", "a.b(1).c"),
        ("a[0][?'k']", "_[?_](_[_](a, 0), 'k')"),
        ("a.?b", "a.?b"),
        ("[?a, b]", "[?a, b]"),
        ("{'a': 1, 'b': x}", "{'a': 1, 'b': x}"),
        ("Object.spec{replicas: 1}", "Object.spec{replicas: 1}"),
        ("has(a.b.c)", "has(a.b.c)"),
        ("a.all(x, x > 0)", "all<a; x; _>_(x, 0)>"),
        ("a.map(x, x > 0, x + 1)", "map<a; x; _>_(x, 0), _+_(x, 1)>"),
        ("a.exists(i, v, v == i)", "exists<a; i v; _==_(v, i)>"),
        ("a.transformMap(k, v, v)", "transformMap<a; k v; v>"),
        ("'a' // the rest is said to nobody", "'a'"),
    ],
)
def test_tree(text: str, expected: str) -> None:
    assert shown(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "1 +", "a.", "(1", "[1", "{1: 2", "a b", "has(a)", "a.all(x.y, true)", "let", "a ? b", "1 = 2",
        "9223372036854775808",
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(CompileError):
        parse(text)


def test_fault_names_its_place() -> None:
    with pytest.raises(CompileError) as caught:
        parse("a +\n  )")
    assert "<input>:2:3" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * (DEPTH_MAX + 1) + "1" + ")" * (DEPTH_MAX + 1), id="depth"),
        pytest.param(" - ".join(["1"] * (CHAIN_MAX + 2)), id="operators-in-a-row"),
        pytest.param("a" + ".b" * (CHAIN_MAX + 2), id="members-in-a-row"),
        pytest.param("'" + "a" * TEXT_CHARS_MAX + "'", id="length"),
    ],
)
def test_too_much_is_refused(text: str) -> None:
    with pytest.raises(CompileError, match="limit"):
        parse(text)
