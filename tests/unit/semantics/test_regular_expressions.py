"""Patterns in Go's syntax."""

import pytest

from doorman.semantics.regular_expressions import PATTERN_CHARS_MAX, PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"), [("^a+$", "aaa", True), (r"\Aa\z", "a\n", False), ("b", "abc", True)]
)
def test_pattern(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize("pattern", ["(", "a**", "(?=a)", "a" * (PATTERN_CHARS_MAX + 1)])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)
