"""Which overload takes which arguments."""

from typing import Any

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.overloads import DYN, Overload, call, merged, table
from doorman.semantics.cel.values import Uint

TABLE = table(
    ("size", ("string",), "int", lambda _m, text: f"string {text}"),
    ("size", ("list",), "int", lambda _m, items: f"list {len(items)}"),
    ("pair", ("int", DYN), "bool", lambda _m, one, other: (one, other)),
)


@pytest.mark.parametrize(
    ("types", "is_taken"),
    [
        pytest.param(("int", "string"), True, id="any-type"),
        pytest.param(("int", "int"), True, id="any-other-type"),
        pytest.param((DYN, "int"), True, id="not-known-yet"),
        pytest.param(("uint", "int"), False, id="another-type"),
        pytest.param(("int",), False, id="too-few"),
        pytest.param(("int", "int", "int"), False, id="too-many"),
    ],
)
def test_takes(types: tuple[str, ...], is_taken: bool) -> None:
    assert Overload(("int", DYN), "bool", lambda: None).takes(types) is is_taken


def test_overload_is_chosen_by_the_types_of_the_values() -> None:
    assert call(TABLE["size"], CostBudget(), ["abc"]) == "string abc"
    assert call(TABLE["size"], CostBudget(), [["a"]]) == "list 1"


@pytest.mark.parametrize("arguments", [[1], [], ["a", "b"], [None]])
def test_what_no_overload_takes_is_an_error(arguments: list[Any]) -> None:
    with pytest.raises(CelError, match="no such overload"):
        call(TABLE["size"], CostBudget(), arguments)


def test_unsigned_is_no_integer() -> None:
    with pytest.raises(CelError, match="no such overload"):
        call(TABLE["pair"], CostBudget(), [Uint(1), 1])


def test_merged_tables_have_all_overloads_in_order() -> None:
    other = table(("size", ("map",), "int", lambda _m, found: "map"), ("own", (), "int", lambda _m: 1))
    found = merged([TABLE, other])
    assert [overload.parameters for overload in found["size"]] == [("string",), ("list",), ("map",)]
    assert call(found["own"], CostBudget(), []) == 1
