"""What is said of expressions that are none."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.syntax.parser import parse
from doorman.semantics.cel.syntax.tokens import tokens_of

LITERALS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
OPERAND = "{'[', '{', '(', '.', '-', '!', " + LITERALS


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("1 +", [(4, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}")], id="end"),
        pytest.param("foo(a,b,)", [(9, f"Syntax error: mismatched input ')' expecting {OPERAND}")], id="last-comma"),
        pytest.param("* 1", [(1, f"Syntax error: extraneous input '*' expecting {OPERAND}")], id="operator-first"),
        pytest.param("a b", [(3, "Syntax error: extraneous input 'b' expecting <EOF>")], id="two-words"),
        pytest.param("a b c", [(3, "Syntax error: mismatched input 'b' expecting <EOF>")], id="three-words"),
        pytest.param("(1 + 2", [(7, "Syntax error: missing ')' at '<EOF>'")], id="open"),
        pytest.param("[(1, 2]", [(4, "Syntax error: missing ')' at ','")], id="open-inside"),
        pytest.param("foo(1 2)", [(7, "Syntax error: extraneous input '2' expecting ')'")], id="no-comma"),
        pytest.param("[1 2]", [(4, "Syntax error: extraneous input '2' expecting {']', ','}")], id="no-comma-in-list"),
        pytest.param("{1 2}", [(4, "Syntax error: missing ':' at '2'")], id="no-colon"),
        pytest.param("{1}", [(3, "Syntax error: mismatched input '}' expecting ':'")], id="key-only"),
        pytest.param("a ? b", [(6, "Syntax error: mismatched input '<EOF>' expecting ':'")], id="half-a-choice"),
        pytest.param(
            "{",
            [
                (
                    2,
                    "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', "
                    + LITERALS,
                )
            ],
            id="open-map",
        ),
        pytest.param(
            "t{>C}",
            [(3, "Syntax error: extraneous input '>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}")],
            id="field",
        ),
        pytest.param("a.", [(3, "Syntax error: no viable alternative at input '.'")], id="dot"),
        pytest.param(
            "-",
            [
                (2, "Syntax error: no viable alternative at input '-'"),
                (2, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
            ],
            id="minus",
        ),
        pytest.param(
            "a | b",
            [
                (3, "Syntax error: token recognition error at: '| '"),
                (5, "Syntax error: extraneous input 'b' expecting <EOF>"),
            ],
            id="half-an-operator",
        ),
        pytest.param(
            "1 + $",
            [
                (5, "Syntax error: token recognition error at: '$'"),
                (6, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
            ],
            id="strange",
        ),
        pytest.param("true @", [(6, "Syntax error: token recognition error at: '@'")], id="strange-at-the-end"),
        pytest.param("0xFFFFFFFFFFFFFFFFF", [(1, "invalid int literal")], id="int"),
        pytest.param("0xFFFFFFFFFFFFFFFFFu", [(1, "invalid uint literal")], id="uint"),
        pytest.param("1.99e90000009", [(1, "invalid double literal")], id="double"),
    ],
)
def test_faults(text: str, faults: list[tuple[int, str]]) -> None:
    with pytest.raises(CelError) as failed:
        parse(text)
    shown = [f"ERROR: <input>:1:{at}: {why}\n | {text}\n | {'.' * (at - 1)}^" for at, why in faults]
    assert str(failed.value) == "\n".join(shown)


@pytest.mark.parametrize("text", ["[1,]", "{1: 2,}", "Object{a: 1,}", "f()", "a.?b[?c].d(e)", "--1", "!!a", "[]", "{}"])
def test_what_may_be(text: str) -> None:
    parse(text)


def test_words() -> None:
    tokens, faults = tokens_of("a.`b c` in [1u, .5, 'x', b'y', true] // why")
    assert not faults
    assert [token.name for token in tokens] == [
        "IDENTIFIER", ".", "ESC_IDENTIFIER", "in", "[", "NUM_UINT", ",", "NUM_FLOAT", ",", "STRING", ",", "BYTES", ",",
        "true", "]", "<EOF>",
    ]  # fmt: skip
