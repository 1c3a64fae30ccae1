"""RuntimeClass."""

from typing import Any

import pytest

from doorman.admission.plugins.runtime_class_admission import RuntimeClass
from doorman.base.errors import ApiError


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


CLASS = {
    "metadata": {"name": "rc"},
    "overhead": {"podFixed": {"cpu": "1"}},
    "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
}


def test_pod_takes_over_overhead_selector_and_tolerations(world: Any, asked: Any) -> None:
    doc = pod(runtimeClassName="rc", nodeSelector={"x": "y"}, tolerations=[{"key": "k", "operator": "Equal"}])
    RuntimeClass().admit(asked(doc), world(runtimeclasses=[CLASS]), 0.0)
    assert doc["spec"]["overhead"] == {"cpu": "1"}
    assert doc["spec"]["nodeSelector"] == {"x": "y", "a": "b"}
    assert doc["spec"]["tolerations"] == [{"key": "k", "operator": "Exists"}]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"runtimeClassName": "no"}, 'pod rejected: RuntimeClass "no" not found', id="unknown"),
        pytest.param(
            {"runtimeClassName": "rc", "overhead": {"cpu": "2"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            id="overhead",
        ),
        pytest.param(
            {"runtimeClassName": "rc", "nodeSelector": {"a": "c"}},
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
            id="selector",
        ),
    ],
)
def test_pod_is_refused(spec: Any, message: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        RuntimeClass().admit(asked(pod(**spec)), world(runtimeclasses=[CLASS]), 0.0)
    assert refused.value.message == f'pods "p" is forbidden: {message}'


def test_overhead_needs_a_class(world: Any, asked: Any) -> None:
    with pytest.raises(ApiError, match="Overhead set without corresponding RuntimeClass"):
        RuntimeClass().validate(asked(pod(overhead={"cpu": "1"})), world(), 0.0)
    RuntimeClass().validate(asked(pod()), world(), 0.0)
    RuntimeClass().admit(asked(pod()), world(), 0.0)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"runtimeClassName": "rc", "overhead": {"cpu": "1000m"}}, "", id="same-amount-in-other-words"),
        pytest.param({"runtimeClassName": "light"}, "", id="no-overhead-anywhere"),
        pytest.param(
            {"runtimeClassName": "light", "overhead": {"cpu": "1"}},
            "Pod Overhead set without corresponding RuntimeClass defined Overhead",
            id="class-without-overhead",
        ),
        pytest.param(
            {"runtimeClassName": "rc", "overhead": {"cpu": "1", "memory": "1"}},
            "Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            id="more-than-the-class-says",
        ),
    ],
)
def test_overhead_is_that_of_the_class(spec: Any, why: str, world: Any, asked: Any) -> None:
    there = world(runtimeclasses=[CLASS, {"metadata": {"name": "light"}}])
    if not why:
        RuntimeClass().admit(asked(pod(**spec)), there, 0.0)
        RuntimeClass().validate(asked(pod(**spec)), there, 0.0)
        return
    with pytest.raises(ApiError) as refused:
        RuntimeClass().validate(asked(pod(**spec)), there, 0.0)
    assert refused.value.message == f'pods "p" is forbidden: pod rejected: {why}'
