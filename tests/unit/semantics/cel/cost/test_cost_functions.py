"""What calling a function can cost, and how large its result can be."""

import pytest

from doorman.semantics.cel.cost.cost_functions import Operand, call_estimate
from doorman.semantics.cel.cost.cost_ranges import Range, exactly
from doorman.semantics.cel.typing.static_types import BOOL, STRING, Type


def text(least: int, most: int) -> Operand:
    return Operand(type=STRING, size=Range(least, most))


def texts(most: int, each: int) -> Operand:
    return Operand(type=Type("list", of=STRING), size=Range(0, most), item_size=Range(0, each))


LITERAL = Operand(type=Type("int"), size=exactly(1), literal=3)


@pytest.mark.parametrize(
    ("name", "target", "arguments", "cost", "result"),
    [
        pytest.param("hasValue", Operand(type=Type("optional_type")), [], 1, None, id="any-other"),
        pytest.param("check", Operand(type=BOOL), [], 350_000, None, id="check"),
        pytest.param("lowerAscii", text(0, 40), [], 4, 40, id="lower"),
        pytest.param("replace", text(0, 16), [text(1, 1), text(2, 2)], 4, 32, id="replace-by-more"),
        pytest.param("replace", text(0, 16), [text(2, 2), text(1, 1)], 4, 16, id="replace-by-less"),
        pytest.param("replace", text(0, 16), [text(0, 0), text(1, 1)], 4, 33, id="replace-nothing"),
        pytest.param("split", text(0, 40), [text(1, 1)], 8, 40, id="split"),
        pytest.param("split", text(0, 40), [text(1, 1), LITERAL], 8, 3, id="split-in-three"),
        pytest.param("join", texts(10, 40), [text(1, 1)], 41, 409, id="join"),
        pytest.param("isSorted", texts(10, 40), [], 50, None, id="sorted"),
        pytest.param("indexOf", text(0, 40), [text(1, 1)], 4, None, id="index-in-a-text"),
        pytest.param("find", text(0, 39), [text(8, 8)], 8, 39, id="find"),
        pytest.param("sets.contains", None, [texts(10, 1), texts(5, 1)], 51, None, id="sets"),
        pytest.param("distinct", texts(10, 1), [], 211, 100, id="distinct"),
        pytest.param("slice", texts(10, 1), [LITERAL, text(0, 1)], 18, 7, id="slice"),
        pytest.param("reverse", texts(10, 1), [], 21, 10, id="reverse"),
        pytest.param("containsIP", Operand(type=Type("net.CIDR")), [text(0, 40)], 8, None, id="address"),
        pytest.param("quantity", None, [text(0, 40)], 4, None, id="quantity"),
        pytest.param("bytes", None, [text(0, 40)], 4, 160, id="bytes"),
    ],
)
def test_call(name: str, target: Operand | None, arguments: list[Operand], cost: int, result: int | None) -> None:
    found = call_estimate(name, target, arguments)
    assert (found.cost.max, found.result.max if found.result is not None else None) == (cost, result)
