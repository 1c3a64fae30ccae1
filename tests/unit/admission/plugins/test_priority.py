"""Priority."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.priority import CLASSES, Priority, decide_default_class
from doorman.base.errors import ApiError


def priority_class(name: str, value: int, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "value": value, **fields}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


NEVER = priority_class("never", 7, preemptionPolicy="Never")


@pytest.mark.parametrize(
    ("classes", "spec", "expected"),
    [
        pytest.param([], {}, {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}, id="no-class"),
        pytest.param(
            [NEVER],
            {"priorityClassName": "never"},
            {"priorityClassName": "never", "priority": 7, "preemptionPolicy": "Never"},
            id="class",
        ),
        pytest.param(
            [priority_class("d", 5, globalDefault=True)],
            {},
            {"priorityClassName": "d", "priority": 5, "preemptionPolicy": "PreemptLowerPriority"},
            id="default-class",
        ),
        pytest.param(
            [], {"priority": 0}, {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}, id="computed-number-given"
        ),
    ],
)
def test_pod_takes_its_class(classes: Any, spec: Any, expected: Any, world: Any, asked: Any) -> None:
    doc = pod(**spec)
    Priority().admit(asked(doc), world(priorityclasses=classes), 0.0)
    assert doc["spec"] == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"priorityClassName": "x"}, "no PriorityClass with name x was found", id="unknown"),
        pytest.param(
            {"priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; "
            "priority admission controller computed 0 from the given PriorityClass name",
            id="number",
        ),
        pytest.param(
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
            id="policy",
        ),
    ],
)
def test_pod_is_refused(spec: Any, message: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        Priority().admit(asked(pod(**spec)), world(), 0.0)
    assert refused.value.message == f'pods "p" is forbidden: {message}'


def test_update_restores_what_is_missing(world: Any, asked: Any) -> None:
    new, old = pod(), pod(priority=7, preemptionPolicy="Never")
    Priority().admit(asked(new, operation=Operation.UPDATE, old=old), world(), 0.0)
    assert new["spec"] == old["spec"]


def test_only_one_class_is_the_default(world: Any, asked: Any) -> None:
    one, other = priority_class("a", 1, globalDefault=True), priority_class("b", 2, globalDefault=True)
    plugin, there = Priority(), world(priorityclasses=[one])
    with pytest.raises(ApiError, match=r"PriorityClass a is already marked as default\. Only one default can exist"):
        plugin.validate(asked(other, CLASSES), there, 0.0)
    plugin.validate(asked(one, CLASSES, operation=Operation.UPDATE, old=one), there, 0.0)
    plugin.validate(asked(priority_class("c", 1), CLASSES), there, 0.0)


def test_of_several_defaults_the_lowest_counts() -> None:
    classes = [priority_class("a", 5, globalDefault=True), priority_class("b", 2, globalDefault=True)]
    found = decide_default_class(classes)
    assert found is not None
    assert found["metadata"]["name"] == "b"
