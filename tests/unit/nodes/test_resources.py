"""What a pod asks for."""

from typing import Any

import msgspec
import pytest

from doorman.api.pods import PodSpec
from doorman.nodes.resources import pod_requests


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"containers": [container("1"), container("500m")]}, 1500, id="sum"),
        pytest.param({"containers": [container("1")], "initContainers": [container("3")]}, 3000, id="init-needs-more"),
        pytest.param({"containers": [container("2")], "initContainers": [container("1")]}, 2000, id="init-needs-less"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("1", restartPolicy="Always")]}, 2000,
            id="sidecar-counts-with-containers",
        ),
        pytest.param(
            {"containers": [container("1")],
             "initContainers": [container("1", restartPolicy="Always"), container("3")]}, 4000,
            id="sidecar-counts-with-later-init",
        ),
        pytest.param({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead"),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}}, 3000, id="for-the-whole-pod"
        ),
    ],
)  # fmt: skip
def test_requests(spec: dict[str, Any], cpu: int) -> None:
    assert pod_requests(msgspec.convert(spec, PodSpec)) == {"cpu": cpu}
