"""Limits of indexes, policies of failure and of success: what is refused, in Kubernetes' words."""

from typing import Any

import pytest

from doorman.validation.batch.job import JOB
from doorman.validation.batch.job_policies import count_indexes
from doorman.validation.context import Context
from support.jobs import job, texts


def indexed(**spec: Any) -> dict[str, Any]:
    return job(completionMode="Indexed", **{"completions": 5, "parallelism": 1, **spec})


def failing(*rules: dict[str, Any], pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return job(pod, podFailurePolicy={"rules": list(rules)}, **spec)


def succeeding(*rules: dict[str, Any]) -> dict[str, Any]:
    return indexed(successPolicy={"rules": list(rules)})


CODES = {"operator": "In", "values": [1]}
CONDITIONS = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(indexed(backoffLimitPerIndex=1, maxFailedIndexes=5), [], id="1-right"),
        pytest.param(
            job(backoffLimitPerIndex=1),
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
            id="1-not-indexed",
        ),
        pytest.param(
            indexed(maxFailedIndexes=1),
            ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"],
            id="1-without-a-limit",
        ),
        pytest.param(
            indexed(backoffLimitPerIndex=-1),
            ["spec.backoffLimitPerIndex: Invalid value: -1: must be greater than or equal to 0"],
            id="1-negative",
        ),
        pytest.param(
            indexed(backoffLimitPerIndex=1, maxFailedIndexes=6),
            ["spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"],
            id="1-more-than-there-are",
        ),
        pytest.param(
            indexed(parallelism=100_001),
            [
                "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is "
                "Indexed"
            ],
            id="1-too-many-at-once",
        ),
        pytest.param(
            indexed(completions=100_001, backoffLimitPerIndex=1),
            ["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
            id="1-very-many-need-a-bound",
        ),
        pytest.param(
            indexed(completions=100_001, backoffLimitPerIndex=1, maxFailedIndexes=10_001),
            [
                "spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 when completions are "
                "above 100000 and used with backoff limit per index"
            ],
            id="1-very-many-need-a-lower-bound",
        ),
    ],
)
def test_indexes(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(JOB.create(doc, Context())) == expected


AT = "spec.podFailurePolicy.rules[0]"


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(failing({"action": "Ignore", "onPodConditions": CONDITIONS}), [], id="2-conditions"),
        pytest.param(failing({"action": "FailJob", "onExitCodes": CODES}), [], id="2-codes"),
        pytest.param(
            failing({"onExitCodes": CODES}),
            [f'{AT}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'],
            id="2-no-action",
        ),
        pytest.param(
            failing({"action": "X", "onExitCodes": CODES}),
            [f'{AT}.action: Unsupported value: "X": supported values: "Count", "FailIndex", "FailJob", "Ignore"'],
            id="2-no-such-action",
        ),
        pytest.param(
            failing({"action": "FailIndex", "onExitCodes": CODES}),
            [f'{AT}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
            id="2-index-without-a-limit",
        ),
        pytest.param(
            failing({"action": "Count", "onExitCodes": CODES, "onPodConditions": CONDITIONS}),
            [f"{AT}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"],
            id="2-both",
        ),
        pytest.param(
            failing({"action": "Count", "onExitCodes": {"operator": "In"}}),
            [f"{AT}.onExitCodes.values: Invalid value: null: at least one value is required"],
            id="2-no-codes",
        ),
        pytest.param(
            failing({"action": "Count"}),
            [f"{AT}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"],
            id="2-neither",
        ),
        pytest.param(
            failing({"action": "Count", "onExitCodes": {"operator": "In", "values": [3, 0, 3], "containerName": "x"}}),
            [
                f'{AT}.onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer '
                "names in the pod template",
                f"{AT}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
                f"{AT}.onExitCodes.values[2]: Duplicate value: 3",
                f"{AT}.onExitCodes.values: Invalid value: [3,0,3]: must be ordered",
            ],
            id="2-codes-that-make-no-sense",
        ),
        pytest.param(
            failing({"action": "Count", "onExitCodes": {"operator": "", "values": []}}),
            [
                f'{AT}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]',
                f"{AT}.onExitCodes.values: Invalid value: []: at least one value is required",
            ],
            id="2-no-codes",
        ),
        pytest.param(
            failing({"action": "Count", "onPodConditions": [{"type": "Ready", "status": "x"}]}),
            [f'{AT}.onPodConditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"'],
            id="2-status",
        ),
        pytest.param(
            failing({"action": "Count", "onExitCodes": CODES}, pod={"restartPolicy": "OnFailure"}),
            [
                'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when '
                "podFailurePolicy is specified"
            ],
            id="2-restarted-pods",
        ),
        pytest.param(
            failing({"action": "Count", "onExitCodes": CODES}, podReplacementPolicy="TerminatingOrFailed"),
            ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
            id="2-replaced-too-early",
        ),
        pytest.param(
            job(podReplacementPolicy="x"),
            ['spec.podReplacementPolicy: Unsupported value: "x": supported values: "Failed", "TerminatingOrFailed"'],
            id="replacement",
        ),
    ],
)
def test_failure_policy(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(JOB.create(doc, Context())) == expected


def test_status_of_a_condition_is_true_by_default() -> None:
    doc = failing({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]})
    assert doc["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


OF = "spec.successPolicy.rules[0]"


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(succeeding({"succeededIndexes": "0,2-4", "succeededCount": 2}), [], id="3-right"),
        pytest.param(
            succeeding(),
            [
                "spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy "
                "is specified"
            ],
            id="3-no-rules",
        ),
        pytest.param(
            succeeding({}),
            [f"{OF}: Required value: at least one of succeededCount or succeededIndexes must be specified"],
            id="3-empty-rule",
        ),
        pytest.param(
            succeeding({"succeededIndexes": "0", "succeededCount": 6}),
            [
                f"{OF}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified "
                "completions)",
                f"{OF}.succeededCount: Invalid value: 6: must be less than or equal to 1 (the number of indexes in the "
                "specified succeededIndexes field)",
            ],
            id="3-more-than-there-are",
        ),
        pytest.param(
            succeeding({"succeededIndexes": "x"}),
            [
                f'{OF}.succeededIndexes: Invalid value: "x": error parsing succeededIndexes: cannot convert string to '
                'integer for index: "x"'
            ],
            id="3-no-index",
        ),
    ],
)
def test_success_policy(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(JOB.create(doc, Context())) == expected


def test_success_policy_is_for_indexed_jobs() -> None:
    errors = JOB.create(job(successPolicy={"rules": [{"succeededCount": 1}]}), Context())
    assert [(error.field, error.body.rpartition(": ")[2]) for error in errors] == [
        ("spec.successPolicy", "requires indexed completion mode")
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("5", 'too large index: "5"', id="too-large"),
        pytest.param("1-9", 'too large index: "9"', id="too-large-end"),
        pytest.param("1,1", "non-increasing order, previous: 1, current: 1", id="twice"),
        pytest.param("3-2", "non-increasing order, previous: 3, current: 2", id="backwards"),
        pytest.param("1-2-3", 'the fragment "1-2-3" violates', id="three-parts"),
    ],
)
def test_indexes_that_make_no_sense(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        count_indexes(text, 5)


def test_name_of_an_indexed_job_leaves_room_for_the_index() -> None:
    name = "a" * 62
    doc = indexed(completions=11)
    doc["metadata"]["name"] = name
    errors = [error for error in JOB.create(doc, Context()) if error.field == "metadata.name"]
    assert texts(errors) == [
        f'metadata.name: Invalid value: "{name}": will not able to create pod with invalid DNS label: {name}-10'
    ]
