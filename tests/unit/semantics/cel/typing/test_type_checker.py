"""What is known before evaluation."""

import re

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression, declared
from doorman.semantics.cel.typing.static_types import DYN, STRING, Type

SCHEMA = {
    "Pod": {"metadata": Type("map", schema="Meta"), "spec": Type("map", schema="Spec")},
    "Meta": {"name": STRING, "labels": Type("map", of=STRING)},
    "Spec": {"tolerations": Type("list", of=Type("map", schema="Toleration")), "free": DYN},
    "Toleration": {"key": STRING, "tolerationSeconds": Type("int"), "x-y": STRING},
}


def fields(schema: str, field: str) -> Type | None:
    return SCHEMA[schema].get(field)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("object.a.b", "dyn"),
        ("object.a == 1", "bool"),
        ("1 + 1", "int"),
        ("[1, 2]", "list(int)"),
        ("[1, 'a']", "list(dyn)"),
        ("'a'.size()", "int"),
        ("object.a.size() > 1 ? 'a' : 'b'", "string"),
        ("object.l.map(x, 'a')", "list(string)"),
        ("object.l.filter(x, true)", "list(dyn)"),
        ("object.?a", "optional_type"),
        ("timestamp(object.t) - timestamp(object.u)", "duration"),
        ("object.t + duration('1s')", "dyn"),
        ("[1].sum()", "int"),
    ],
)
def test_type_of_dynamic_documents(expression: str, expected: str) -> None:
    assert str(compile_expression(expression, declared(["object"]))) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("object.metadata.name", "string"),
        ("object.metadata.labels['a']", "string"),
        ("object.spec.tolerations.map(t, t.tolerationSeconds)", "list(int)"),
        ("object.spec.tolerations.all(i, t, i > 0 && t.key != '')", "bool"),
        ("object.spec.tolerations.exists(t, t.x__dash__y == '')", "bool"),
        ("object.spec.free.anything", "dyn"),
    ],
)
def test_type_by_schema(expression: str, expected: str) -> None:
    assert str(compile_expression(expression, {"object": Type("map", schema="Pod")}, fields)) == expected


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("object.spec.nope", "1:12: undefined field 'nope'"),
        ("has(object.nope)", "undefined field 'nope'"),
        ("object.spec.tolerations.all(t, t.keys == '')", "1:33: undefined field 'keys'"),
        ("object.metadata.name + 1", "found no matching overload for '_+_' applied to '(string, int)'"),
        ("object.metadata.labels.all(k, k > 1)", "found no matching overload for '_>_' applied to '(string, int)'"),
        ("object.metadata.name.first()", "found no matching overload for 'first' applied to 'string.()'"),
        ("object.metadata.name.x", "type 'string' does not support field selection"),
    ],
)
def test_fault_by_schema(expression: str, why: str) -> None:
    with pytest.raises(CelError) as failed:
        compile_expression(expression, {"object": Type("map", schema="Pod")}, fields)
    assert why in str(failed.value)


def test_all_faults_are_told_in_their_order() -> None:
    with pytest.raises(CelError) as failed:
        compile_expression(
            "nobody(object.zero) || object.spec.one > 'x' + 1", {"object": Type("map", schema="Pod")}, fields
        )
    assert re.findall(r"<input>:1:(\d+)", str(failed.value)) == ["7", "14", "35", "46"]
