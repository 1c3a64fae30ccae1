"""The language itself: operators, macros, optionals, errors, limits."""

from typing import Any

import pytest

from doorman.semantics.cel.cel_errors import TOO_EXPENSIVE, CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.expression import compile_expression, declared, evaluate, is_true

NAMES: dict[str, Any] = {
    "object": {
        "metadata": {"name": "a", "labels": {"x-y": "1"}},
        "spec": {"replicas": 3, "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b"}]},
        "namespace": "q",
    },
    "x": 5,
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("1 + 2 * 3", 7, id="precedence"),
        pytest.param("x-1", 4, id="minus-needs-no-space"),
        pytest.param("-x - 1", -6, id="negation"),
        pytest.param("-7 / 2", -3, id="division-towards-zero"),
        pytest.param("-7 % 2", -1, id="remainder-has-the-sign-of-the-first"),
        pytest.param("0x1F + 1", 32, id="hexadecimal"),
        pytest.param("5u + 1u", 6, id="unsigned"),
        pytest.param("1.5 + 2.0", 3.5, id="double"),
        pytest.param("1 == 1.0 && 1 < 1.5", True, id="numbers-compare-across-types"),
        pytest.param("'a' + \"b\" + '''c'''", "abc", id="quotes"),
        pytest.param(r"'\u00e9\t\x41' + r'\n'", "é\tA\\n", id="escapes"),
        pytest.param("b'ab' == bytes('ab')", True, id="bytes"),
        pytest.param("[1, [2]] + ['a']", [1, [2], "a"], id="lists"),
        pytest.param("{'a': 1, 'b': null}", {"a": 1, "b": None}, id="map"),
        pytest.param("{1: 'a'}[1.0]", "a", id="equal-numbers-are-one-key"),
        pytest.param("x > 3 ? 'big' : 'small'", "big", id="conditional"),
        pytest.param("object.spec.tolerations[1].key", "b", id="index"),
        pytest.param("object.metadata.labels.x__dash__y", "1", id="escaped-property"),
        pytest.param("object.__namespace__", "q", id="escaped-keyword"),
        pytest.param("has(object.spec.nope)", False, id="has-not"),
        pytest.param("has(object.spec.replicas)", True, id="has"),
        pytest.param("'name' in object.metadata && 2 in [1, 2]", True, id="in"),
        pytest.param("object.spec.tolerations.all(t, has(t.key))", True, id="all"),
        pytest.param("object.spec.tolerations.exists(t, t.operator == 'Exists')", True, id="exists-absorbs-errors"),
        pytest.param("[1, 2].exists_one(i, i > 1)", True, id="exists-one"),
        pytest.param("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6], id="map-with-filter"),
        pytest.param("{'a': 1}.map(k, k)", ["a"], id="map-of-keys"),
        pytest.param("[1, 2].all(i, v, v == i + 1)", True, id="two-names-list"),
        pytest.param("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}, id="transform-map"),
        pytest.param("['a', 'b'].transformList(i, v, string(i) + v)", ["0a", "1b"], id="transform-list"),
        pytest.param("{'a': 'b'}.transformMapEntry(k, v, {v: k})", {"b": "a"}, id="transform-entries"),
        pytest.param("[1].map(x, x) == [1] && x == 5", True, id="macro-names-are-its-own"),
        pytest.param("true || 1 / 0 == 1", True, id="or-absorbs-right"),
        pytest.param("1 / 0 == 1 || true", True, id="or-absorbs-left"),
        pytest.param("[1, 0].all(i, 1 / i == 5)", False, id="all-absorbs"),
        pytest.param("object.spec.?nope.orValue(7)", 7, id="optional-field"),
        pytest.param("object.?spec.?replicas.value()", 3, id="optional-chain"),
        pytest.param("object.metadata.labels[?'z'].hasValue()", False, id="optional-index"),
        pytest.param("optional.of(5).optMap(v, v * 2).orValue(1)", 10, id="optional-map"),
        pytest.param("optional.of(5).optFlatMap(v, optional.none()).hasValue()", False, id="optional-flat-map"),
        pytest.param("optional.none().or(optional.of(1)).value()", 1, id="optional-or"),
        pytest.param("optional.of(1).orValue(1 / 0)", 1, id="alternative-only-when-needed"),
        pytest.param("[?optional.none(), 1, ?optional.of(2)]", [1, 2], id="optional-elements"),
        pytest.param("{?'a': optional.none(), 'b': 1}", {"b": 1}, id="optional-entries"),
        pytest.param("// why\n1 // because", 1, id="comments"),
        pytest.param(" && ".join(["true"] * 2000), True, id="long-chain"),
    ],
)
def test_evaluate(expression: str, expected: object) -> None:
    compile_expression(expression, declared(NAMES))
    found = evaluate(expression, NAMES)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        pytest.param("object.nope", "no such key: nope", id="key"),
        pytest.param("object.nope.nope", "no such key: nope", id="key-of-nothing"),
        pytest.param("[1][1]", "index out of bounds: 1", id="index"),
        pytest.param("1 / 0", "division by zero", id="division"),
        pytest.param("1 % 0", "modulus by zero", id="modulus"),
        pytest.param("9223372036854775807 + 1", "integer overflow", id="overflow"),
        pytest.param("1u - 2u", "unsigned integer overflow", id="unsigned-overflow"),
        pytest.param("dyn(1) + 'a'", "no such overload", id="types"),
        pytest.param("dyn(1) && true", "no such overload", id="not-boolean"),
        pytest.param("optional.none().value()", "optional.none() dereference", id="empty-optional"),
        pytest.param("{'a': 1, 'a': 2}", "Failed with repeated key: a", id="repeated-key"),
    ],
)
def test_evaluation_fails_in_few_words(expression: str, why: str) -> None:
    with pytest.raises(CelError) as failed:
        evaluate(expression, NAMES)
    assert str(failed.value) == why


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        pytest.param(
            "foo.bar",
            "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo.bar\n | ^",
            id="name",
        ),
        pytest.param(
            "true &&\n nobody(1)",
            "ERROR: <input>:2:8: undeclared reference to 'nobody' (in container '')\n |  nobody(1)\n | .......^",
            id="function",
        ),
        pytest.param(
            "1 + 'a'",
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^",
            id="operator",
        ),
        pytest.param(
            "(1 + 2", "ERROR: <input>:1:7: Syntax error: missing ')' at '<EOF>'\n | (1 + 2\n | ......^", id="end"
        ),
    ],
)
def test_compilation_fails_with_the_place(expression: str, why: str) -> None:
    with pytest.raises(CelError) as failed:
        compile_expression(expression, declared(NAMES))
    assert str(failed.value) == f"compilation failed: {why}"


@pytest.mark.parametrize(
    "expression",
    [
        "has(object)", "'abc", "'a'.nofn()", "[1].map(1, 2)", "if", "a b", "'a'.matches('(')", "'a'.size(1)",
        "1 && true", "[1].all(i, 1)", "'a'.all(i, true)", "1.name", "!1", "-'a'", "[1] < [2]", "object.all(x)",
        "Object{a: 1}", "'\\q'", "9223372036854775808", "optional.of(1).optMap(1, 2)", "''.orValue(1)",
    ],
)  # fmt: skip
def test_faults_are_found_before_evaluation(expression: str) -> None:
    with pytest.raises(CelError, match=r"^compilation failed: ERROR: <input>:1:"):
        compile_expression(expression, declared(NAMES))


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("(" * 500, id="parentheses"),
        pytest.param("[" * 500 + "]" * 500, id="brackets"),
        pytest.param("1" + "+1" * 5000, id="chain"),
        pytest.param("object" + ".object" * 5000, id="members"),
        pytest.param("true ? 1 : " * 500 + "1", id="conditionals"),
        pytest.param("a" * 100_000, id="length"),
    ],
)
def test_what_would_exhaust_the_stack_is_refused(expression: str) -> None:
    with pytest.raises(CelError, match="limit"):
        compile_expression(expression, declared(NAMES))


TEN = "[0,1,2,3,4,5,6,7,8,9]"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("".join(f"{TEN}.map(v{n}, " for n in range(7)) + "1" + ")" * 7, id="nested-macros"),
        pytest.param("lists.range(1000000000)", id="range"),
        pytest.param("[1].map(x, 'aaaaaaaaaa'.replace('', s).replace('', s).replace('', s))", id="replace"),
        pytest.param("lists.range(10000).map(x, s).join()", id="join"),
        pytest.param("lists.range(6000).map(x, s).exists(x, x == 'b' + s)", id="comparisons"),
        pytest.param("lists.range(10000).map(x, s.matches('(a+)+b'))", id="patterns"),
        pytest.param(
            "false || " + "".join(f"{TEN}.all(v{n}, " for n in range(7)) + "true" + ")" * 7, id="not-absorbed"
        ),
    ],
)
def test_costly_expression_is_cut_off(expression: str) -> None:
    with pytest.raises(CelError, match=TOO_EXPENSIVE):
        evaluate(expression, {"s": "a" * 1000})


def test_one_budget_for_several_expressions() -> None:
    meter = CostBudget(100)
    evaluate("lists.range(60)", {}, meter)
    with pytest.raises(CelError, match=TOO_EXPENSIVE):
        evaluate("lists.range(60)", {}, meter)


def test_pattern_takes_linear_time() -> None:
    assert evaluate("s.matches('^(a+)+$')", {"s": "a" * 5000 + "b"}) is False


def test_condition_must_be_a_boolean() -> None:
    with pytest.raises(CelError, match="is no boolean"):
        is_true("1", {})
    assert is_true("true", {})


def test_names_are_not_changed() -> None:
    names = {"x": 1}
    evaluate("[2].map(x, x)", names)
    assert names == {"x": 1}
