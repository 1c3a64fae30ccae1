"""What `kubectl get validatingadmissionpolicybindings` shows of parameters."""

from typing import Any

import pytest

from doorman.server.tables.admission_columns import ADMISSION_COLUMNS

SELECTOR = {
    "matchLabels": {"c": "d", "a": "b"},
    "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        pytest.param(None, "<unset>", id="none"),
        pytest.param({"name": "p"}, "*/p", id="by-name-in-the-request-s-namespace"),
        pytest.param({"name": "p", "namespace": "n"}, "n/p", id="by-name"),
        pytest.param(
            {"selector": {}},
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}",
            id="all",
        ),
        pytest.param(
            {"selector": SELECTOR, "namespace": "n"},
            "&LabelSelector{MatchLabels:map[string]string{a: b,c: d,},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},"
            "LabelSelectorRequirement{Key:old,Operator:DoesNotExist,Values:[],},},}",
            id="by-selector",
        ),
    ],
)
@pytest.mark.parametrize("kind", ADMISSION_COLUMNS)
def test_parameters(kind: str, reference: dict[str, Any] | None, shown: str) -> None:
    doc: dict[str, Any] = {"metadata": {"name": "b"}, "spec": {"policyName": "x"}}
    if reference is not None:
        doc["spec"]["paramRef"] = reference
    assert [column.cell(doc, 0.0) for column in ADMISSION_COLUMNS[kind]] == ["b", "x", shown, "<unknown>"]
