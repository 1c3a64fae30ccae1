"""Each error once."""

from doorman.base.errors import required
from doorman.validation.context import Context, distinct


def test_distinct_keeps_the_first_of_equal_errors_in_order() -> None:
    assert distinct([required("b"), required("a"), required("b")]) == [required("b"), required("a")]


def test_context_allows_comparison_operators_unless_told() -> None:
    assert Context().comparison_operators
    assert Context().subresource == ""
