"""Selectors, affinity and topology spread."""

from typing import Any

import pytest

from doorman.semantics.name_syntax import qualified_name_faults
from doorman.validation.selectors import (
    affinity_errors,
    label_selector_errors,
    node_selector_errors,
    selector_matches,
    topology_spread_errors,
)


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"matchLabels": {"a": "b"}}, [], id="good"),
        pytest.param(None, [], id="none"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            ["s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
            id="in-without-values",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            [
                "s.matchExpressions[0].values: Forbidden: "
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ],
            id="exists-with-values",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Like"}]},
            ['s.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator'],
            id="operator",
        ),
    ],
)
def test_label_selector_errors(selector: dict[str, Any] | None, expected: list[str]) -> None:
    assert texts(label_selector_errors(selector, "s")) == expected


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param({}, {"a": "b"}, True, id="empty-selects-all"),
        pytest.param({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True, id="labels"),
        pytest.param({"matchLabels": {"a": "b"}}, {"a": "x"}, False, id="other-value"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {}, True, id="not-in-absent"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, {}, False, id="in-absent"
        ),
        pytest.param({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True, id="exists"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False, id="does-not-exist"
        ),
    ],
)
def test_selector_matches(selector: dict[str, Any], labels: dict[str, str], expected: bool) -> None:
    assert selector_matches(selector, labels) is expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(
            {}, ["n.nodeSelectorTerms: Required value: must have at least one node selector term"], id="no-terms"
        ),
        pytest.param(
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1", "2"]}]}]},
            [
                "n.nodeSelectorTerms[0].matchExpressions[0].values: Required value: "
                "must be specified single value when `operator` is 'Lt' or 'Gt'"
            ],
            id="gt-with-two-values",
        ),
        pytest.param(
            {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]}]},
            [
                "n.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "
                '"metadata.uid": not a valid field selector key'
            ],
            id="field",
        ),
        pytest.param(
            {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
            [],
            id="name",
        ),
    ],
)
def test_node_selector_errors(selector: dict[str, Any], expected: list[str]) -> None:
    assert texts(node_selector_errors(selector, "n")) == expected


def test_affinity_weight_and_topology_key_are_checked() -> None:
    term = {"weight": 0, "podAffinityTerm": {"topologyKey": "z"}}
    affinity = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]},
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]},
    }
    found = texts(affinity_errors(affinity, "a"))
    assert found[0].endswith("[0].weight: Invalid value: 101: must be in the range 1-100")
    assert found[1].endswith("[0].weight: Invalid value: 0: must be in the range 1-100")
    assert found[2].endswith("[0].topologyKey: Required value: can not be empty")


def test_topology_spread_is_checked() -> None:
    good = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    assert topology_spread_errors([good], "t") == []
    bad = {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "Never", "minDomains": 0}
    assert texts(topology_spread_errors([bad], "t")) == [
        "t[0].maxSkew: Invalid value: 0: must be greater than zero",
        't[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"',
        "t[0].minDomains: Invalid value: 0: must be greater than zero",
        "t[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Never",
    ]
    (error,) = topology_spread_errors([good, good], "t")
    assert str(error) == 't[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"'
    assert topology_spread_errors([{**good, "topologyKey": "no label key"}], "t") == []


SELECTOR = {"matchLabels": {"app": "web"}}
MERGED = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
"""As it is once the pod's own value was added."""
NO_SELECTOR = "must not be specified when labelSelector is not set"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({"labelSelector": SELECTOR, "matchLabelKeys": ["hash"]}, [], id="good"),
        pytest.param({"matchLabelKeys": ["hash"]}, [f"a.matchLabelKeys: Forbidden: {NO_SELECTOR}"], id="no-selector"),
        pytest.param(
            {"labelSelector": MERGED, "matchLabelKeys": ["hash", "app"]},
            ['a[1]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'],
            id="said-twice",
        ),
        pytest.param({"labelSelector": SELECTOR, "matchLabelKeys": ["app"]}, [], id="pod-has-no-such-label"),
        pytest.param({"labelSelector": MERGED, "mismatchLabelKeys": ["app"]}, [], id="unwanted-may-be-said-twice"),
        pytest.param(
            {"topologyKey": "", "labelSelector": SELECTOR, "matchLabelKeys": ["-"]},
            [
                f'a.matchLabelKeys[0]: Invalid value: "-": {qualified_name_faults("-")[0]}',
                "a.topologyKey: Required value: can not be empty",
                *(f'a.topologyKey: Invalid value: "": {fault}' for fault in qualified_name_faults("")),
            ],
            id="keys-come-before-the-topology",
        ),
        pytest.param(
            {"labelSelector": SELECTOR, "matchLabelKeys": ["x"], "mismatchLabelKeys": ["x"]},
            ['a.matchLabelKeys[0]: Invalid value: "x": exists in both matchLabelKeys and mismatchLabelKeys'],
            id="wanted-and-unwanted",
        ),
    ],
)
def test_label_keys_add_to_the_selector(more: dict[str, Any], expected: list[str]) -> None:
    term = {"topologyKey": "zone", **more}
    kept = texts(affinity_errors({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, "a"))
    prefix = "a.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    assert [text.replace(prefix, "a") for text in kept] == expected


@pytest.mark.parametrize(
    ("field", "faults"),
    [
        pytest.param("requiredDuringSchedulingIgnoredDuringExecution", 1, id="required"),
        pytest.param("preferredDuringSchedulingIgnoredDuringExecution", 0, id="preferred"),
    ],
)
def test_values_of_preferences_may_be_anything(field: str, faults: int) -> None:
    term = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["no label value"]}]}
    rule: Any = {"nodeSelectorTerms": [term]} if field.startswith("required") else [{"weight": 1, "preference": term}]
    assert len(affinity_errors({"nodeAffinity": {field: rule}}, "a")) == faults
