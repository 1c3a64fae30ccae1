"""The selector grammar with its exact complaints, matching, and the way back to text."""

import pytest

from doorman.api.machinery.label_selectors import (
    EVERYTHING,
    NOTHING,
    format_selector,
    matches,
    parse_selector,
    selector_of,
)
from doorman.api.views.meta import LabelSelector, LabelSelectorRequirement

NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        pytest.param("tier=web", {"tier": "web"}, True, id="rule-1-equal"),
        pytest.param("tier==web", {"tier": "db"}, False, id="rule-1-double-equal-other-value"),
        pytest.param("tier=web", {}, False, id="rule-1-absent"),
        pytest.param("tier=", {"tier": ""}, True, id="rule-1-empty-value"),
        pytest.param("tier in (web, db)", {"tier": "db"}, True, id="rule-1-in"),
        pytest.param("tier in (a,)", {"tier": ""}, True, id="rule-1-in-trailing-comma-is-empty-value"),
        pytest.param("tier in (,a)", {"tier": ""}, True, id="rule-1-in-leading-comma-is-empty-value"),
        pytest.param("tier in (a,,b)", {"tier": ""}, True, id="rule-1-in-double-comma-is-empty-value"),
        pytest.param("tier in (a,,b)", {"tier": "b"}, True, id="rule-1-in-double-comma-keeps-the-rest"),
        pytest.param("tier in (in,notin)", {"tier": "notin"}, True, id="rule-1-words-as-values"),
        pytest.param("in in (in)", {"in": "in"}, True, id="rule-1-word-as-key"),
        pytest.param("tier!=web", {}, True, id="rule-2-not-equal-absent"),
        pytest.param("tier!=web", {"tier": "web"}, False, id="rule-2-not-equal"),
        pytest.param("tier notin (web)", {"tier": "db"}, True, id="rule-2-notin"),
        pytest.param("tier notin ()", {"tier": "db"}, True, id="rule-2-notin-nothing-is-the-empty-value"),
        pytest.param("tier notin ()", {"tier": ""}, False, id="rule-2-notin-nothing-refuses-the-empty-value"),
        pytest.param("tier", {"tier": "x"}, True, id="rule-3-exists"),
        pytest.param("!tier", {"tier": "x"}, False, id="rule-3-not-exists"),
        pytest.param("! tier", {}, True, id="rule-3-not-exists-with-space"),
        pytest.param("cores>8", {"cores": "16"}, True, id="rule-4-greater"),
        pytest.param("cores > 8", {"cores": "8"}, False, id="rule-4-not-greater"),
        pytest.param("cores<8", {"cores": "007"}, True, id="rule-4-leading-zeros-are-numbers"),
        pytest.param("cores<8", {"cores": "many"}, False, id="rule-4-no-number"),
        pytest.param("cores<8", {}, False, id="rule-4-absent"),
        pytest.param("a=1,b!=2", {"a": "1", "b": "2"}, False, id="rule-5-all-must-hold"),
        pytest.param("", {"a": "1"}, True, id="rule-5-empty-matches-everything"),
        pytest.param("  ", {}, True, id="rule-5-blank-matches-everything"),
    ],
)
def test_parsed_selector_matches_as_expected(text: str, labels: dict[str, str], expected: bool) -> None:
    assert parse_selector(text).matches(labels) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("=x", "found '=', expected: !, identifier, or 'end of string'", id="starts-with-operator"),
        pytest.param("!=x", "found '!=', expected: !, identifier, or 'end of string'", id="starts-with-not-equal"),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="lonely-exclamation"),
        pytest.param("!(a", "unable to parse requirement: found '(', expected: identifier", id="exclamation-bracket"),
        pytest.param("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt", id="two"),
        pytest.param("tier in web", "unable to parse requirement: found 'web' expected: '('", id="in-without-bracket"),
        pytest.param("x in (a", "unable to parse requirement: found '', expected: ',' or ')'", id="bracket-open"),
        pytest.param("x in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier", id="in-eq"),
        pytest.param("x in (a,=", "unable to parse requirement: found '=', expected: ',', or identifier", id="list-eq"),
        pytest.param("a=(", "unable to parse requirement: found '(', expected: identifier", id="value-bracket"),
        pytest.param("a,", "found '', expected: identifier after ','", id="comma-at-the-end"),
        pytest.param("a=b c", "found 'c', expected: ',' or 'end of string'", id="word-after-value"),
        pytest.param("!a=b", "found '=', expected: ',' or 'end of string'", id="operator-after-negation"),
        pytest.param(
            "-x", f'unable to parse requirement: <nil>: Invalid value: "-x": {NAME_RULE}', id="key-is-no-label-key"
        ),
        pytest.param(
            "a/b/c=d",
            'unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key '
            + NAME_RULE.removeprefix("name part ")
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            id="key-with-two-slashes",
        ),
        pytest.param(
            "a=-b",
            f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE_RULE}',
            id="value-is-no-label-value",
        ),
        pytest.param(
            "tier>three",
            'unable to parse requirement: values[0]: Invalid value: "three": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="bound-is-no-number",
        ),
    ],
)
def test_bad_selector_is_refused_in_the_api_words(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_selector(text)
    assert str(caught.value) == message


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(None, {"a": "1"}, False, id="nil-selects-nothing"),
        pytest.param(LabelSelector(), {"a": "1"}, True, id="empty-selects-everything"),
        pytest.param(LabelSelector(match_labels={"a": "1", "b": "2"}), {"a": "1", "b": "2", "c": "3"}, True, id="all"),
        pytest.param(LabelSelector(match_labels={"a": "1", "b": "2"}), {"a": "1"}, False, id="one-missing"),
        pytest.param(expression("a", "In", "1", "2"), {"a": "2"}, True, id="in"),
        pytest.param(expression("a", "In", "1"), {}, False, id="in-absent"),
        pytest.param(expression("a", "NotIn", "1"), {}, True, id="not-in-absent"),
        pytest.param(expression("a", "Exists"), {"a": ""}, True, id="exists"),
        pytest.param(expression("a", "DoesNotExist"), {"a": ""}, False, id="does-not-exist"),
        pytest.param(expression("a", "Near", "1"), {"a": "1"}, False, id="unknown-operator-selects-nothing"),
        pytest.param(expression("a", "In"), {"a": "1"}, False, id="in-without-values-selects-nothing"),
    ],
)
def test_label_selector_object_matches_as_expected(
    selector: LabelSelector | None, labels: dict[str, str], expected: bool
) -> None:
    assert matches(selector, labels) is expected


def test_selector_object_with_unknown_operator_says_so() -> None:
    with pytest.raises(ValueError, match='"Near" is not a valid label selector operator'):
        selector_of(expression("a", "Near"))


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param(LabelSelector(match_labels={"b": "2", "a": "1"}), "a=1,b=2", id="labels-sorted-by-key"),
        pytest.param(expression("a", "In", "y", "x"), "a in (x,y)", id="values-sorted"),
        pytest.param(expression("a", "NotIn", "x"), "a notin (x)", id="not-in"),
        pytest.param(expression("a", "DoesNotExist"), "!a", id="does-not-exist"),
        pytest.param(LabelSelector(), "<none>", id="empty"),
        pytest.param(None, "<none>", id="nil"),
    ],
)
def test_selector_object_is_shown_as_kubectl_shows_it(selector: LabelSelector | None, text: str) -> None:
    assert format_selector(selector) == text


@pytest.mark.parametrize("text", ["a=1,b!=2", "!c,d in (x,y),e notin (z),f", "g<5,h>3"])
def test_text_of_a_parsed_selector_parses_to_the_same(text: str) -> None:
    assert str(parse_selector(text)) == text
    assert parse_selector(str(parse_selector(text))) == parse_selector(text)


def test_pinned_label_is_one_that_everything_selected_carries() -> None:
    assert parse_selector("b notin (x),a in (y)").pinned_label_or_none() == ("a", "y")
    assert parse_selector("a in (y,z)").pinned_label_or_none() is None
    assert EVERYTHING.pinned_label_or_none() is None
    assert NOTHING != EVERYTHING
