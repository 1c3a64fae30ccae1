"""CEL over JSON."""

import pytest

from doorman.admission.cel import CelError, check, evaluate, is_true


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("object.a + 1", 3, id="number"),
        pytest.param("'x' + object.s", "xy", id="text"),
        pytest.param("object.l.map(i, i * 2)", [2, 4], id="list"),
        pytest.param("{'a': object.a}", {"a": 2}, id="map"),
        pytest.param("object.n == null", True, id="null"),
        pytest.param("has(object.none) ? 1 : 2", 2, id="absent"),
        pytest.param("object.l.exists(i, i > 1) && object.s.startsWith('y')", True, id="boolean"),
    ],
)
def test_values_come_back_as_json(expression: str, expected: object) -> None:
    found = evaluate(expression, {"object": {"a": 2, "s": "y", "l": [1, 2], "n": None}})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("expression", ["object.none.x", "nobody", "1 / 0", "'a' < 1"])
def test_what_cannot_be_evaluated_is_an_error_in_few_words(expression: str) -> None:
    with pytest.raises(CelError) as failed:
        evaluate(expression, {"object": {}})
    assert len(str(failed.value)) < 200


def test_condition_must_be_a_boolean() -> None:
    with pytest.raises(CelError, match="is no boolean"):
        is_true("1", {})


def test_syntax_is_checked_without_evaluating() -> None:
    check("object.spec.replicas > 1")
    with pytest.raises(CelError, match="compilation failed"):
        check("1 +")
