"""Where in an expression something is wrong, in the compiler's words."""

import pytest

from doorman.semantics.cel.cel_errors import SHOWN_CHARS_MAX, CelError, CompileError, CompileErrors, all_of, no_overload


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        pytest.param("a +", 3, "ERROR: <input>:1:4: why\n | a +\n | ...^", id="at the end"),
        pytest.param("a\n&& b", 5, "ERROR: <input>:2:4: why\n | && b\n | ...^", id="in the second line"),
        pytest.param("", 0, "ERROR: <input>:1:0: why", id="in no text"),
        pytest.param("a" * (SHOWN_CHARS_MAX + 1), 1, "ERROR: <input>:1:2: why", id="in a line too long to be shown"),
    ],
)
def test_place_is_shown(text: str, at: int, expected: str) -> None:
    assert str(CompileError(text, at, "why")) == expected


def test_several_are_told_in_the_order_of_the_text() -> None:
    later, sooner = CompileError("a b", 2, "later"), CompileError("a b", 0, "sooner")
    told = all_of([later, sooner])
    assert isinstance(told, CompileErrors)
    assert (told.at, told.why) == (0, "sooner")
    assert str(told) == f"{sooner}\n{later}"
    assert all_of([later]) is later


def test_operands_that_do_not_fit_are_an_error_of_the_evaluation() -> None:
    assert isinstance(no_overload(), CelError)
    assert str(no_overload()) == "no such overload"
