"""All functions by name."""

import pytest

from doorman.semantics.cel.library.functions import FUNCTIONS, METHODS, TYPE_NAMES
from support.cel import evaluated


@pytest.mark.parametrize(
    "name", ["size", "matches", "quantity", "semver", "ip", "cidr", "url", "timestamp", "format.named"]
)
def test_function_of_each_library_is_there(name: str) -> None:
    assert name in FUNCTIONS


@pytest.mark.parametrize("name", ["split", "isSorted", "compareTo", "containsIP", "getHostname", "validate", "allowed"])
def test_method_of_each_library_is_there(name: str) -> None:
    assert name in METHODS


@pytest.mark.parametrize("name", sorted(TYPE_NAMES - {"null_type", "optional_type"}))
def test_types_are_values(name: str) -> None:
    assert evaluated(f"type({name}) == type") is True
