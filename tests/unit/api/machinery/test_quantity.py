"""Quantities as Kubernetes v1.37 reads them."""

import pytest

from doorman.api.machinery.quantity import SUFFIX_ERROR, SYNTAX_ERROR, QuantityError, canonical_quantity


@pytest.mark.parametrize("text", ["m", "k", "Ki", "E", "-", "+", "-u", ".", "-.", "e3", "e-3", "-Ki"])
def test_number_without_digits_is_nothing(text: str) -> None:
    assert canonical_quantity(text) == "0"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [(".5k", "500"), ("5.e3", "5.e3"), ("+.5", "500m"), ("0.5Gi", "512Mi"), ("1e3", "1e3"), ("100u", "100u")],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize(
    ("text", "error"),
    [("", SYNTAX_ERROR), (" ", SYNTAX_ERROR), ("0x1", SYNTAX_ERROR), ("e", SUFFIX_ERROR), ("m5", SUFFIX_ERROR)],
)
def test_no_quantity(text: str, error: str) -> None:
    with pytest.raises(QuantityError) as refused:
        canonical_quantity(text)
    assert str(refused.value) == error
