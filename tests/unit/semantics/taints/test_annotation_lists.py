"""Lists in annotations, and what Go says of texts that are not JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorman.semantics.taints.annotation_lists import (
    INTERNAL_TAINT,
    INTERNAL_TOLERATION,
    TOLERATION,
    AnnotationError,
    GoStruct,
    parse_annotated_list,
    syntax_fault,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[]", [], id="empty"),
        pytest.param("null", [], id="null"),
        pytest.param('[{"key":"k","value":null}]', [{"key": "k"}], id="nulls-left-out"),
        pytest.param("[null]", [{}], id="null-element"),
        pytest.param('[{"Key":"k","TOLERATIONSECONDS":5}]', [{"key": "k", "tolerationSeconds": 5}], id="any-case"),
        pytest.param('[{"key":"k","nope":{}}]', [{"key": "k"}], id="unknown-member"),
    ],
)
def test_parse_annotated_list(text: str, expected: list[dict[str, Any]]) -> None:
    assert parse_annotated_list(text, TOLERATION) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{}", "json: cannot unmarshal object into Go value of type []v1.Toleration", id="object"),
        pytest.param('"x"', "json: cannot unmarshal string into Go value of type []v1.Toleration", id="string"),
        pytest.param("[1]", "json: cannot unmarshal number into Go value of type v1.Toleration", id="number-inside"),
        pytest.param("oops", "invalid character 'o' looking for beginning of value", id="not-json"),
        pytest.param("[" * 100_000, "unexpected end of JSON input", id="deep-nesting"),
    ],
)
def test_parse_annotated_list_refuses(text: str, message: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        parse_annotated_list(text, TOLERATION)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("go_struct", "member", "fault"),
    [
        pytest.param(TOLERATION, '"key":5', "number into Go struct field Toleration.key of type string", id="number"),
        pytest.param(TOLERATION, '"key":true', "bool into Go struct field Toleration.key of type string", id="bool"),
        pytest.param(
            TOLERATION, '"value":["a"]', "array into Go struct field Toleration.value of type string", id="array"
        ),
        pytest.param(
            TOLERATION,
            '"operator":{}',
            "object into Go struct field Toleration.operator of type v1.TolerationOperator",
            id="named-type",
        ),
        pytest.param(
            TOLERATION,
            '"tolerationSeconds":1.5',
            "number 1.5 into Go struct field Toleration.tolerationSeconds of type int64",
            id="fraction",
        ),
        pytest.param(
            TOLERATION,
            '"tolerationSeconds":"5"',
            "string into Go struct field Toleration.tolerationSeconds of type int64",
            id="seconds-as-text",
        ),
        pytest.param(
            TOLERATION,
            '"tolerationSeconds":9223372036854775808',
            "number 9223372036854775808 into Go struct field Toleration.tolerationSeconds of type int64",
            id="too-large",
        ),
        pytest.param(
            INTERNAL_TOLERATION,
            '"effect":1',
            "number into Go struct field Toleration.Effect of type core.TaintEffect",
            id="internal",
        ),
        pytest.param(
            INTERNAL_TAINT, '"key":1,"value":2', "number into Go struct field Taint.Key of type string", id="the-first"
        ),
    ],
)
def test_member_of_the_wrong_type(go_struct: GoStruct, member: str, fault: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        parse_annotated_list(f"[{{{member}}}]", go_struct)
    assert str(refused.value) == f"json: cannot unmarshal {fault}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "unexpected end of JSON input", id="empty"),
        pytest.param("[", "unexpected end of JSON input", id="open-array"),
        pytest.param('{"a', "unexpected end of JSON input", id="open-key"),
        pytest.param('{"a":1', "unexpected end of JSON input", id="open-object"),
        pytest.param("[1 2]", "invalid character '2' after array element", id="no-comma"),
        pytest.param('{"a" 1}', "invalid character '1' after object key", id="no-colon"),
        pytest.param('{"a":1 "b"}', "invalid character '\"' after object key:value pair", id="no-comma-in-object"),
        pytest.param("{a}", "invalid character 'a' looking for beginning of object key string", id="bare-key"),
        pytest.param("{'a'}", "invalid character '\\'' looking for beginning of object key string", id="single-quote"),
        pytest.param("[,]", "invalid character ',' looking for beginning of value", id="no-value"),
        pytest.param("[] x", "invalid character 'x' after top-level value", id="trailing"),
        pytest.param("tru3", "invalid character '3' in literal true (expecting 'e')", id="literal"),
        pytest.param("-x", "invalid character 'x' in numeric literal", id="minus"),
        pytest.param("1.x", "invalid character 'x' after decimal point in numeric literal", id="decimal-point"),
        pytest.param('"\n"', "invalid character '\\n' in string literal", id="newline-in-string"),
        pytest.param('"\\q"', "invalid character 'q' in string escape code", id="escape"),
        pytest.param('"\\u00zz"', "invalid character 'z' in \\u hexadecimal character escape", id="hexadecimal"),
    ],
)
def test_syntax_fault(text: str, expected: str) -> None:
    assert syntax_fault(text) == expected


@given(st.text(alphabet='[]{}:,"\\tn1.- ea', max_size=12))
def test_syntax_fault_always_has_an_answer_for_what_is_not_json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert syntax_fault(text).startswith(("invalid character", "unexpected end"))
