"""Resources of a pod as a whole."""

from typing import Any

import pytest

from doorman.registry.kinds.pod_level_resources import default_pod_level_resources


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(({}, {"limits": {"cpu": "1"}}), {}, id="says-nothing"),
        pytest.param(
            ({"limits": {"cpu": "2"}}, {"requests": {"cpu": "1"}}),
            {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}},
            id="requests-of-containers",
        ),
        pytest.param(
            ({"limits": {"cpu": "2"}}, {}), {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}, id="requests-of-limits"
        ),
        pytest.param(
            ({"requests": {"cpu": "1"}}, {"limits": {"cpu": "3"}}),
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
            id="limits-of-containers",
        ),
        pytest.param(
            ({"requests": {"cpu": "4"}}, {"limits": {"cpu": "3"}}),
            {"limits": {"cpu": "4"}, "requests": {"cpu": "4"}},
            id="limit-not-below-request",
        ),
    ],
)
def test_pod_level_resources(given: Any, expected: Any) -> None:
    assert _defaulted(*given) == expected


def _defaulted(whole: Any, container: Any) -> Any:
    spec = {"resources": whole, "containers": [{"resources": container}]}
    default_pod_level_resources(spec)
    return spec["resources"]


def test_pod_without_containers_is_for_validation_to_refuse() -> None:
    spec = {"containers": None, "resources": {"limits": {"cpu": "1"}}}
    default_pod_level_resources(spec)
    assert spec["containers"] is None
