"""kubectl taint's grammar and what it does to a list."""

import pytest

from doorman.semantics.name_syntax import LABEL_VALUE_FAULT, qualified_name_faults
from doorman.semantics.taints.taint_spec import (
    Changed,
    TaintChange,
    TaintCommandError,
    TaintRefused,
    TaintSpecError,
    apply_taint_change,
    check_conflicts,
    parse_taint,
    parse_taint_change,
    split_arguments,
)

BAD_NAME = qualified_name_faults("=")[-1]
NO_NAME = "name part must be non-empty"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["nodes", "n1", "a=b:NoSchedule", "c-"], (["nodes", "n1"], ["a=b:NoSchedule", "c-"]), id="rule-1"),
        pytest.param(["nodes", "a:b"], (["nodes"], ["a:b"]), id="rule-1-no-name"),
    ],
)
def test_split_arguments(arguments: list[str], expected: tuple[list[str], list[str]]) -> None:
    assert split_arguments(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["nodes", "n1", "a=b:NoSchedule", "n2"],
            "all resources must be specified before taint changes: n2",
            id="rule-1-resource-after-taint",
        ),
        pytest.param(
            ["a:NoSchedule"], "one or more resources must be specified as <resource> <name>", id="rule-1-no-resource"
        ),
        pytest.param(["nodes", "n1"], "at least one taint update is required", id="rule-1-no-taint"),
    ],
)
def test_split_arguments_refuses(arguments: list[str], message: str) -> None:
    with pytest.raises(TaintCommandError) as refused:
        split_arguments(arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("specs", "additions", "removals"),
    [
        pytest.param(["k=v:NoSchedule"], ["k=v:NoSchedule"], [], id="rule-2-value"),
        pytest.param(["k=:NoSchedule"], ["k:NoSchedule"], [], id="rule-2-empty-value"),
        pytest.param(["k:NoExecute"], ["k:NoExecute"], [], id="rule-2-no-value"),
        pytest.param(["k:NoSchedule-"], [], ["k:NoSchedule"], id="rule-2-remove"),
        pytest.param(["k-"], [], ["k"], id="rule-4-remove-every-effect"),
        pytest.param(["k=v:NoSchedule-"], [], ["k:NoSchedule"], id="rule-4-value-forgotten"),
        pytest.param(["k-", "k-"], [], ["k", "k"], id="rule-5-two-removals"),
        pytest.param(["k:NoSchedule", "k:NoExecute"], ["k:NoSchedule", "k:NoExecute"], [], id="rule-5-other-effect"),
    ],
)
def test_parse_taint_change(specs: list[str], additions: list[str], removals: list[str]) -> None:
    change = parse_taint_change(specs)
    assert [str(taint) for taint in change.additions] == additions
    assert [str(taint) for taint in change.removals] == removals


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        pytest.param(["k=v"], f"invalid taint spec: k=v, {BAD_NAME}", id="rule-2-no-effect-with-value"),
        pytest.param(["k=v-"], f"invalid taint spec: k=v, {BAD_NAME}", id="rule-2-removal-with-value-only"),
        pytest.param(["k=a=b:NoSchedule"], "invalid taint spec: k=a=b:NoSchedule", id="rule-2-two-values"),
        pytest.param(["k=a:b:NoSchedule"], "invalid taint spec: k=a:b:NoSchedule", id="rule-2-two-colons"),
        pytest.param(["k:"], "invalid taint effect: , unsupported taint effect", id="rule-3-empty-effect"),
        pytest.param(
            ["k b=c d:Never"], "invalid taint effect: Never, unsupported taint effect", id="rule-3-effect-first"
        ),
        pytest.param(
            ["a b=c d:NoSchedule"],
            f"invalid taint spec: a b=c d:NoSchedule, {LABEL_VALUE_FAULT}",
            id="rule-3-value-before-key",
        ),
        pytest.param(
            ["=v:NoSchedule"], f"invalid taint spec: =v:NoSchedule, {NO_NAME}; {BAD_NAME}", id="rule-3-no-key"
        ),
        pytest.param(["-"], f"invalid taint spec: , {NO_NAME}; {BAD_NAME}", id="rule-2-hyphen-alone"),
        pytest.param(["k--"], f"invalid taint spec: k-, {BAD_NAME}", id="rule-2-only-one-hyphen-goes"),
        pytest.param(["plain"], "invalid taint spec: plain", id="rule-5-addition-needs-effect"),
        pytest.param(
            ["a:NoSchedule", "a=x:NoSchedule"],
            "duplicated taints with the same key and effect: {a x NoSchedule <nil>}",
            id="rule-5-two-additions",
        ),
    ],
)
def test_parse_taint_change_refuses(specs: list[str], message: str) -> None:
    with pytest.raises(TaintSpecError) as refused:
        parse_taint_change(specs)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("specs", "listed"),
    [
        pytest.param(["a:NoSchedule", "a-"], "a=", id="rule-6-every-effect"),
        pytest.param(["a=1:NoSchedule", "a:NoSchedule-"], "a=NoSchedule", id="rule-6-same-effect"),
        pytest.param(["a:NoSchedule", "b:NoExecute", "a-", "b-"], "a=, b=", id="rule-6-two"),
    ],
)
def test_check_conflicts_refuses(specs: list[str], listed: str) -> None:
    with pytest.raises(TaintCommandError) as refused:
        check_conflicts(parse_taint_change(specs))
    assert str(refused.value) == (
        f"can not both modify and remove the following taint(s) in the same command: {listed}"
    )


def test_rule_6_other_effect_is_no_conflict() -> None:
    check_conflicts(parse_taint_change(["a:NoSchedule", "a:NoExecute-"]))
    check_conflicts(TaintChange())


@pytest.mark.parametrize(
    ("old", "specs", "overwrite", "taints", "verb"),
    [
        pytest.param([], ["a=b:NoSchedule"], False, ["a=b:NoSchedule"], "tainted", id="rule-10-tainted"),
        pytest.param(
            ["a=b:NoSchedule"], ["a=c:NoSchedule"], True, ["a=c:NoSchedule"], "modified", id="rule-7-overwrite"
        ),
        pytest.param(
            ["a=b:NoSchedule"],
            ["a=c:NoExecute"],
            False,
            ["a=c:NoExecute", "a=b:NoSchedule"],
            "tainted",
            id="rule-8-additions-first",
        ),
        pytest.param(
            ["x:NoSchedule", "a=b:NoSchedule"],
            ["a=c:NoSchedule"],
            True,
            ["a=c:NoSchedule", "x:NoSchedule"],
            "modified",
            id="rule-8-replaced-moves-to-the-front",
        ),
        pytest.param([], ["a:NoSchedule"], True, ["a:NoSchedule"], "modified", id="rule-10-overwrite-of-nothing"),
        pytest.param(["a:NoSchedule", "a:NoExecute"], ["a-"], False, [], "untainted", id="rule-10-every-effect"),
        pytest.param(
            ["a:NoSchedule", "a:NoExecute"], ["a:NoExecute-"], False, ["a:NoSchedule"], "untainted", id="rule-10-one"
        ),
        pytest.param(["a=1:NoSchedule"], ["a=9:NoSchedule-"], False, [], "untainted", id="rule-4-value-ignored"),
        pytest.param(
            ["a:NoSchedule"], ["b:NoSchedule", "a:NoSchedule-"], False, ["b:NoSchedule"], "modified", id="rule-10-both"
        ),
        pytest.param(["a:NoSchedule"], ["a-"], True, [], "modified", id="rule-10-overwrite-and-removal"),
    ],
)
def test_apply_taint_change(old: list[str], specs: list[str], overwrite: bool, taints: list[str], verb: str) -> None:
    change = parse_taint_change(specs)
    found = apply_taint_change([parse_taint(one) for one in old], change, node_name="n1", overwrite=overwrite)
    assert isinstance(found, Changed)
    assert [str(taint) for taint in found.taints] == taints
    assert found.verb == verb


@pytest.mark.parametrize(
    ("old", "specs", "reasons"),
    [
        pytest.param(
            ["a=b:NoSchedule"],
            ["a=b:NoSchedule"],
            ["node n1 already has a taint(s) with same effect(s) and --overwrite is false"],
            id="rule-7-equal",
        ),
        pytest.param(
            ["a:NoSchedule", "b:NoSchedule"],
            ["b=1:NoSchedule", "c:NoSchedule", "a=1:NoSchedule"],
            ["node n1 already has b,a taint(s) with same effect(s) and --overwrite is false"],
            id="rule-7-keys-in-order-of-additions",
        ),
        pytest.param([], ["a-"], ['taint "a" not found'], id="rule-9-key"),
        pytest.param([], ["a:NoSchedule-"], ['taint "a:NoSchedule" not found'], id="rule-9-key-and-effect"),
        pytest.param(
            ["c:NoExecute"],
            ["a-", "b:NoSchedule-", "c-"],
            ['taint "a" not found', 'taint "b:NoSchedule" not found'],
            id="rule-9-nothing-is-changed",
        ),
    ],
)
def test_apply_taint_change_refuses(old: list[str], specs: list[str], reasons: list[str]) -> None:
    change = parse_taint_change(specs)
    found = apply_taint_change([parse_taint(one) for one in old], change, node_name="n1", overwrite=False)
    assert found == TaintRefused(reasons=tuple(reasons))
