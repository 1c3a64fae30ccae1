"""Annotations are read leniently: what makes no sense was not said."""

import pytest

from doorman.nodes.node_annotations import (
    STARTUP,
    is_simulated,
    node_annotation_errors,
    pod_annotation_errors,
    seconds_or,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2s", 2.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="minutes"),
        pytest.param("0", 0.0, id="zero"),
        pytest.param("-2s", 7.0, id="negative"),
        pytest.param("soon", 7.0, id="no-duration"),
        pytest.param(None, 7.0, id="absent"),
    ],
)
def test_duration_of_an_annotation(text: str | None, expected: float) -> None:
    assert seconds_or({} if text is None else {STARTUP: text}, STARTUP, 7.0) == expected


def test_only_true_makes_a_node_simulated() -> None:
    assert is_simulated({"doorman.dev/simulated": "true"})
    assert not is_simulated({"doorman.dev/simulated": "yes"})
    assert not is_simulated({})


@pytest.mark.parametrize(
    ("mark", "text", "complaint"),
    [
        pytest.param("startup", "2s", "", id="duration"),
        pytest.param("ready-after", "2", 'time: missing unit in duration "2"', id="no-unit"),
        pytest.param("runs-for", "-1s", 'must not be negative: "-1s"', id="negative-duration"),
        pytest.param("exit-codes", "1,1,0", "", id="exit-codes"),
        pytest.param("exit-codes", "", 'want exit codes such as "1,1,0", not ""', id="no-exit-code"),
        pytest.param("exit-codes", "256", 'exit codes go from 0 to 255: "256"', id="impossible-exit-code"),
        pytest.param("memory-usage", "2Gi", "", id="amount"),
        pytest.param("disk-usage", "-1", 'must not be negative: "-1"', id="negative-amount"),
        pytest.param("disk-usage", "1e999999999", "quantities must match", id="amount-beyond-all-measure"),
        pytest.param("failing-images", "*", "", id="images"),
        pytest.param("silent", "true", "this is said of nodes, not of pods", id="of-nodes"),
        pytest.param("start-up", "2s", "no such annotation; want one of startup, ready-after,", id="misspelt"),
    ],
)
def test_what_is_wrong_with_a_pods_annotation(mark: str, text: str, complaint: str) -> None:
    errors = pod_annotation_errors({f"doorman.dev/{mark}": text, "example.com/other": "x"})
    assert [error.startswith(f"doorman.dev/{mark}: {complaint}") for error in errors] == ([True] if complaint else [])


@pytest.mark.parametrize(
    ("mark", "text", "complaint"),
    [
        pytest.param("silent", "false", "", id="silent"),
        pytest.param("simulated", "1", 'want "true" or "false", not "1"', id="neither-true-nor-false"),
        pytest.param("script", "nonsense", "", id="read-elsewhere"),
        pytest.param("taints", "[]", "", id="record-of-taints"),
        pytest.param("pod-termination", "2s", "", id="duration"),
        pytest.param("pod-termination", "-2s", 'must not be negative: "-2s"', id="negative-duration"),
        pytest.param("failing-images", "*", "", id="images"),
        pytest.param("startup", "2s", "this is said of pods, not of nodes", id="of-pods"),
        pytest.param("condition", "Ready=False", "no such annotation; want one of simulated, silent,", id="misspelt"),
    ],
)
def test_what_is_wrong_with_a_nodes_annotation(mark: str, text: str, complaint: str) -> None:
    errors = node_annotation_errors({f"doorman.dev/{mark}": text, "example.com/other": "x"})
    assert [error.startswith(f"doorman.dev/{mark}: {complaint}") for error in errors] == ([True] if complaint else [])
