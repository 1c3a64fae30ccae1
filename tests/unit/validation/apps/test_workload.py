"""Deployments, replica sets, daemon sets, stateful sets, replication controllers."""

from typing import Any

import pytest

from doorman.semantics.name_syntax import PERCENT_FAULT
from doorman.validation.apps.workload import (
    DAEMON_SET,
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    int_or_percent_errors,
    percent_or_none,
)
from doorman.validation.apps.workload_defaults import (
    default_daemon_set,
    default_deployment,
    default_replica_set,
    default_replication_controller,
    default_stateful_set,
)
from doorman.validation.context import Context, Validator

DEFAULTS = {
    DEPLOYMENT: default_deployment,
    REPLICA_SET: default_replica_set,
    DAEMON_SET: default_daemon_set,
    STATEFUL_SET: default_stateful_set,
    REPLICATION_CONTROLLER: default_replication_controller,
}


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def workload(validator: Validator, pod: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    selector = {"a": "b"} if validator is REPLICATION_CONTROLLER else {"matchLabels": {"a": "b"}}
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers, **(pod or {})}}
    doc: dict[str, Any] = {
        "metadata": {"name": "w", "uid": "u"},
        "spec": {"selector": selector, "template": template, **spec},
    }
    DEFAULTS[validator](doc)
    return doc


ALL = [pytest.param(validator, id=make.__name__) for validator, make in DEFAULTS.items()]


@pytest.mark.parametrize("validator", ALL)
def test_plain_workload_is_accepted(validator: Validator) -> None:
    doc = workload(validator)
    assert validator.create(doc, Context()) == []
    assert validator.update(doc, doc, Context()) == []
    assert validator.update(doc, doc, Context(subresource="status")) == []


def test_of_a_replication_controllers_selector_only_the_labels_are_told() -> None:
    """It is what the template's labels must be, which are looked at themselves."""
    doc = workload(REPLICATION_CONTROLLER, selector={"a": "b$"})
    (text,) = texts(REPLICATION_CONTROLLER.create(doc, Context()))
    assert text.startswith("spec.template.metadata.labels: Invalid value")


@pytest.mark.parametrize("validator", ALL)
def test_template_always_restarts_and_is_selected(validator: Validator) -> None:
    never = workload(validator, {"restartPolicy": "Never"})
    assert texts(validator.create(never, Context())) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]
    other = workload(validator)
    other["spec"]["template"]["metadata"]["labels"] = {"a": "x"}
    assert texts(validator.create(other, Context())) == [
        'spec.template.metadata.labels: Invalid value: {"a":"x"}: `selector` does not match template `labels`'
    ]
    negative = workload(validator)
    negative["spec"]["minReadySeconds"] = -1
    assert "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0" in texts(
        validator.create(negative, Context())
    )


@pytest.mark.parametrize("validator", ALL)
def test_gate_off_holds_templates_to_the_stored_template(validator: Validator) -> None:
    off = Context(comparison_operators=False)
    numeric = workload(validator, {"tolerations": [{"key": "k", "operator": "Gt", "value": "5"}]})
    assert len(validator.create(numeric, off)) == 1
    assert validator.update(numeric, numeric, off) == []
    assert len(validator.update(numeric, workload(validator), off)) == 1


@pytest.mark.parametrize("validator", [DEPLOYMENT, REPLICA_SET, DAEMON_SET])
def test_selector_is_fixed_and_needed(validator: Validator) -> None:
    old, new = workload(validator), workload(validator)
    new["spec"]["selector"] = {"matchLabels": {}}
    assert [error.field for error in validator.update(new, old, Context())] == ["spec.selector", "spec.selector"]
    del new["spec"]["selector"]
    mismatch = 'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`'
    needed = [] if validator is DAEMON_SET else ["spec.selector: Required value"]
    assert texts(validator.create(new, Context())) == [*needed, mismatch]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param({"type": "Recreate"}, [], id="recreate"),
        pytest.param(
            {"type": "Recreate", "rollingUpdate": {}},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
            id="recreate-with-parameters",
        ),
        pytest.param(
            {"type": "X"},
            [
                'spec.strategy: Unsupported value: {"Type":"X","RollingUpdate":null}: '
                'supported values: "Recreate", "RollingUpdate"'
            ],
            id="type",
        ),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}},
            ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
            id="nothing-moves",
        ),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "a", "maxSurge": "-5%"}},
            [
                f'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "a": {PERCENT_FAULT}',
                f'spec.strategy.rollingUpdate.maxSurge: Invalid value: "-5%": {PERCENT_FAULT}',
                'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "a": may not be 0 when `maxSurge` is 0',
            ],
            id="what-is-no-number-counts-as-none",
        ),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "5", "maxSurge": 0}},
            [f'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "5": {PERCENT_FAULT}'],
            id="number-as-a-text",
        ),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "101%", "maxSurge": 1}},
            ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
            id="more-than-all",
        ),
    ],
)
def test_deployment_strategy(strategy: dict[str, Any], expected: list[str]) -> None:
    assert texts(DEPLOYMENT.create(workload(DEPLOYMENT, strategy=strategy), Context())) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"updateStrategy": {"type": "OnDelete"}}, [], id="on-delete"),
        pytest.param(
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 2}}},
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":2,"MaxUnavailable":null}: '
                "only allowed for updateStrategy 'RollingUpdate'"
            ],
            id="on-delete-with-parameters",
        ),
        pytest.param(
            {"updateStrategy": {"type": "X"}},
            [
                'spec.updateStrategy: Invalid value: {"Type":"X","RollingUpdate":null}: '
                "must be 'RollingUpdate' or 'OnDelete'"
            ],
            id="type",
        ),
        pytest.param(
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1, "maxUnavailable": 0}}},
            [
                "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
                "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
            ],
            id="numbers",
        ),
        pytest.param(
            {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "150%"}}},
            ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "150%": must not be greater than 100%'],
            id="more-than-all",
        ),
        pytest.param(
            {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Keep"}},
            [
                'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep": '
                'supported values: "Retain", "Delete"'
            ],
            id="retention",
        ),
        pytest.param(
            {"ordinals": {"start": -1}},
            ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
            id="ordinals",
        ),
    ],
)
def test_stateful_set(spec: dict[str, Any], expected: list[str]) -> None:
    assert texts(STATEFUL_SET.create(workload(STATEFUL_SET, **spec), Context())) == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"name": "a-b"}, [], id="label"),
        pytest.param({"name": "a.b"}, ['metadata.name: Invalid value: "a.b": must not contain dots'], id="dots"),
        pytest.param(
            {"name": "a.b-x", "generateName": "a.b-"},
            [
                'metadata.generateName: Invalid value: "a.b-": must not contain dots',
                'metadata.name: Invalid value: "a.b-x": must not contain dots',
            ],
            id="generated",
        ),
    ],
)
def test_stateful_set_is_named_as_its_pods_are(metadata: dict[str, Any], expected: list[str]) -> None:
    doc = {**workload(STATEFUL_SET), "metadata": metadata}
    assert texts(STATEFUL_SET.create(doc, Context())) == expected


def test_deployment_deadline_is_beyond_min_ready() -> None:
    doc = workload(DEPLOYMENT, minReadySeconds=600)
    assert texts(DEPLOYMENT.create(doc, Context())) == [
        "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"
    ]


@pytest.mark.parametrize(
    ("rolling", "expected"),
    [
        pytest.param({"maxUnavailable": 0, "maxSurge": 1}, [], id="surge"),
        pytest.param(
            {"maxUnavailable": "150%", "maxSurge": 1},
            [
                'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "150%": '
                "must not be greater than 100%",
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: "
                "may not be set when maxUnavailable is non-zero",
            ],
            id="both-and-too-many",
        ),
        pytest.param(
            {"maxUnavailable": 0, "maxSurge": 0},
            ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
            id="neither",
        ),
        pytest.param(
            {"maxUnavailable": 1, "maxSurge": 1},
            [
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: "
                "may not be set when maxUnavailable is non-zero"
            ],
            id="both",
        ),
    ],
)
def test_daemon_set_strategy(rolling: dict[str, Any], expected: list[str]) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert texts(DAEMON_SET.create(workload(DAEMON_SET, updateStrategy=strategy), Context())) == expected


def test_stateful_set_changes_little() -> None:
    old = workload(STATEFUL_SET)
    assert STATEFUL_SET.update(workload(STATEFUL_SET, replicas=3), old, Context()) == []
    (error,) = STATEFUL_SET.update(workload(STATEFUL_SET, serviceName="x"), old, Context())
    assert str(error) == 'spec.serviceName: Invalid value: "x": field is immutable'


def test_int_or_percent() -> None:
    assert int_or_percent_errors(0, "p") == []
    assert int_or_percent_errors("25%", "p") == []
    assert texts(int_or_percent_errors(-1, "p")) == ["p: Invalid value: -1: must be greater than or equal to 0"]
    assert len(int_or_percent_errors("ten", "p")) == 1
    assert percent_or_none("25%") == 25
    assert percent_or_none(25) is None


@pytest.mark.parametrize(
    ("validator", "is_required"),
    [
        pytest.param(DEPLOYMENT, True, id="deployment"),
        pytest.param(REPLICA_SET, True, id="replica-set"),
        pytest.param(STATEFUL_SET, True, id="stateful-set"),
        pytest.param(DAEMON_SET, False, id="daemon-set"),
    ],
)
def test_without_selector_and_template_all_that_nobody_can_guess_is_missing(
    validator: Validator, is_required: bool
) -> None:
    doc: dict[str, Any] = {"metadata": {"name": "x"}}
    DEFAULTS[validator](doc)
    mismatch = "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"
    rest = [mismatch, "spec.template.spec.containers: Required value"]
    found = texts(validator.create(doc, Context()))
    assert found == (["spec.selector: Required value", *rest] if is_required else rest)
