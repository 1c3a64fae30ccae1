"""Records of taints: a row for each rule."""

import json
from typing import Any

import pytest

from doorman.api.taints import Taint
from doorman.semantics.taints.taint_records import (
    RecordsError,
    TaintRecord,
    dated_taints,
    decide_records,
    expired_taints,
    next_expiry_or_none,
    read_records,
    to_annotation,
    wish_annotation,
)
from doorman.semantics.taints.taint_spec import parse_taint

NOW = 3600.0
NEW = {"added": "1970-01-01T01:00:00Z", "user": "ann", "manager": "m"}
OLD = {"added": "1970-01-01T00:00:00Z", "user": "bob", "manager": "old", "reason": "why"}
A = {"key": "a", "effect": "NoSchedule"}
B = {"key": "b", "value": "v", "effect": "NoExecute"}


def taints(*specs: str) -> list[Taint]:
    return [parse_taint(spec) for spec in specs]


def decided(after: list[str], before: list[str], written: Any, known: Any) -> Any:
    texts = [json.dumps(found) if found is not None else "" for found in (written, known)]
    found = decide_records(
        taints(*after), taints(*before), written=texts[0], known=texts[1], user="ann", manager="m", now=NOW
    )
    return json.loads(to_annotation(found))


@pytest.mark.parametrize(
    ("after", "before", "written", "known", "expected"),
    [
        pytest.param(
            ["b=v:NoExecute", "a:NoSchedule"], [], None, None, [{**B, **NEW}, {**A, **NEW}], id="rule-1-one-each"
        ),
        pytest.param([], ["a:NoSchedule"], [{**A, **OLD}], [{**A, **OLD}], [], id="rule-1-record-without-taint-goes"),
        pytest.param(
            ["a:NoSchedule", "b=v:NoExecute"], ["a:NoSchedule"], [{**A, **OLD}], [{**A, **OLD}],
            [{**A, **OLD}, {**B, **NEW}], id="rule-2-the-old-one-stays-as-it-was",
        ),
        pytest.param(
            ["a=x:NoSchedule"], ["a:NoSchedule"], [{**A, **OLD}], [{**A, **OLD}], [{**A, "value": "x", **NEW}],
            id="rule-2-another-value-is-added-now",
        ),
        pytest.param(["a:NoSchedule"], ["a:NoSchedule"], None, None, [A], id="rule-2-older-than-the-records"),
        pytest.param(
            ["a:NoSchedule"], [], [{**A, "user": "eve", "added": "1999-01-01T00:00:00Z"}], None, [{**A, **NEW}],
            id="rule-3-who-and-when-cannot-be-forged",
        ),
        pytest.param(
            ["a:NoSchedule"], ["a:NoSchedule"], [{"key": "a", "reason": "new"}], [{**A, **OLD}],
            [{**A, **OLD, "reason": "new"}], id="rule-4-reason-replaced",
        ),
        pytest.param(
            ["a:NoSchedule", "b=v:NoExecute"], ["a:NoSchedule", "b=v:NoExecute"], [{"key": "b"}],
            [{**A, **OLD}, {**B, **OLD}], [{**A, **OLD}, {**{k: v for k, v in {**B, **OLD}.items() if k != "reason"}}],
            id="rule-4-no-entry-keeps-an-empty-one-clears",
        ),
        pytest.param(
            ["a:NoSchedule"], ["a:NoSchedule"], None, [{**A, **OLD}], [{**A, **OLD}], id="rule-4-annotation-taken-away"
        ),
        pytest.param(
            ["a:NoSchedule"], [], [{**A, "for": "90s"}], None, [{**A, **NEW, "expires": "1970-01-01T01:01:30Z"}],
            id="rule-5-span",
        ),
        pytest.param(
            ["a:NoSchedule"], [], [{**A, "expires": "1970-01-02T01:00:00+01:00"}], None,
            [{**A, **NEW, "expires": "1970-01-02T00:00:00Z"}], id="rule-5-instant",
        ),
    ],
)  # fmt: skip
def test_records(after: list[str], before: list[str], written: Any, known: Any, expected: Any) -> None:
    assert decided(after, before, written, known) == expected


@pytest.mark.parametrize(
    "wish",
    [
        pytest.param({"for": "2h", "expires": "1970-01-01T00:00:00Z"}, id="both"),
        pytest.param({"for": "soon"}, id="no-duration"),
        pytest.param({"for": "-1s"}, id="negative"),
        pytest.param({"for": "9999999999999h"}, id="beyond-the-calendar"),
        pytest.param({"expires": "tomorrow"}, id="no-instant"),
        pytest.param({"reason": "x" * 1025}, id="long"),
        pytest.param({"reason": 5}, id="no-text"),
    ],
)
def test_rule_5_faults_are_refused(wish: Any) -> None:
    with pytest.raises(RecordsError):
        decided(["a:NoSchedule"], [], [{"key": "a", **wish}], None)


def test_rule_6_expired_from_its_instant_on() -> None:
    records = read_records('[{"key":"a","effect":"NoSchedule","expires":"1970-01-01T01:00:00Z"},{"key":"b"}]')
    both = taints("a:NoSchedule", "a:NoExecute")
    assert expired_taints(both, records, NOW - 1) == ()
    assert expired_taints(both, records, NOW) == (both[0],)
    assert next_expiry_or_none(records) == NOW


@pytest.mark.parametrize("text", ["", "{", "{}", '[{"key":1}]', None], ids=str)
def test_what_is_no_record_is_none(text: str | None) -> None:
    assert read_records(text) == ()


def test_unreadable_expiry_never_comes() -> None:
    assert next_expiry_or_none(read_records('[{"key":"a","expires":"x"}]')) is None


def test_wish_leaves_other_taints_as_they_are() -> None:
    known = json.dumps([{**A, **OLD}, {**B, **OLD}])
    text = wish_annotation(known, taints("b=v:NoExecute"), reason="r", span="1h")
    assert json.loads(text) == [{**A, **OLD}, {"key": "b", "effect": "NoExecute", "reason": "r", "for": "1h"}]


def test_rule_7_a_taint_without_a_time_was_added_when_its_record_says() -> None:
    records = [TaintRecord(key="a", effect="NoExecute", added="2026-01-01T00:00:00Z")]
    bare = Taint(key="a", effect="NoExecute")
    own = Taint(key="a", effect="NoExecute", time_added="2026-01-02T00:00:00Z")
    stranger = Taint(key="b", effect="NoExecute")
    found = dated_taints([bare, own, stranger], records)
    assert [taint.time_added for taint in found] == ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", ""]
