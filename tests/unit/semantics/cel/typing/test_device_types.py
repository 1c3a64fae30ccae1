"""What an expression that selects devices may speak of."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression
from doorman.semantics.cel.typing import device_types
from doorman.semantics.cel.typing.static_types import BOOL, DYN, Type


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("device.driver", "string"),
        ("device.allowMultipleAllocations", "bool"),
        ('device.attributes["a"].b', "any"),
        ('device.capacity["a"].b', "kubernetes.Quantity"),
        ('device.capacity["a"]', "map(string, kubernetes.Quantity)"),
        ("device", "kubernetes.DRADevice"),
    ],
)
def test_types(expression: str, kind: str) -> None:
    assert str(compile_expression(expression, device_types.NAMES, device_types.fields)) == kind


def test_bind_is_for_environments_that_have_it() -> None:
    assert compile_expression("cel.bind(x, true, x)", device_types.NAMES, device_types.fields) == BOOL
    with pytest.raises(CelError, match="undeclared reference to 'cel'"):
        compile_expression("cel.bind(x, true, x)", {"self": DYN})


def test_unknown_is_no_range() -> None:
    assert compile_expression("self.all(x, true)", {"self": DYN}) == BOOL
    with pytest.raises(CelError, match="must be list, map, or dynamic"):
        compile_expression('device.attributes["a"].b.all(x, true)', device_types.NAMES, device_types.fields)
    assert Type("list") != DYN
