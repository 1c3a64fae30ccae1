"""What a resize may change."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.pods.pod_defaults import default_pod
from doorman.validation.pods.pod_resize import resize_errors


def pod(resources: Any, **more: Any) -> dict[str, Any]:
    doc = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}
    doc["spec"] |= more
    default_pod(doc)
    return doc


STORED = {"requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({"requests": {"cpu": "2"}}, [], id="more"),
        pytest.param({}, ["spec", "spec.containers[0].resources.requests"], id="removed"),
        pytest.param({"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}, ["spec"], id="something-else"),
    ],
)
def test_resize(resources: Any, expected: list[str]) -> None:
    assert [error.field for error in resize_errors(pod(resources), pod(STORED), Context())] == expected


def test_windows_pods_are_not_resized() -> None:
    old = pod(STORED, os={"name": "windows"})
    (error,) = resize_errors(pod(STORED), old, Context())
    assert "windows pods cannot be resized" in str(error)
