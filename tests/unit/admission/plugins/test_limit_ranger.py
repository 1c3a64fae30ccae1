"""LimitRanger."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.limit_ranger import LimitRanger
from doorman.api.well_known import PERSISTENT_VOLUME_CLAIMS
from doorman.base.errors import ApiError


def limits(*found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"metadata": {"name": "l"}, "spec": {"limits": list(found)}}]


def pod(**resources: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": resources}]}}


def test_defaults_fill_in_what_is_unsaid_and_are_told(world: Any, asked: Any) -> None:
    doc = pod(requests={"cpu": "1"})
    ranges = limits(
        {
            "type": "Container",
            "default": {"cpu": "2", "memory": "1Gi"},
            "defaultRequest": {"cpu": "500m", "memory": "1Gi"},
        }
    )
    LimitRanger().admit(asked(doc), world(limitranges=ranges), 0.0)
    assert doc["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "2", "memory": "1Gi"},
    }
    assert doc["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: memory request for container c; cpu, memory limit for container c"
        )
    }


def test_without_ranges_nothing_happens(world: Any, asked: Any) -> None:
    doc = pod()
    LimitRanger().admit(asked(doc), world(), 0.0)
    LimitRanger().validate(asked(doc), world(), 0.0)
    assert doc == pod()


@pytest.mark.parametrize(
    ("limit", "resources", "why"),
    [
        pytest.param(
            {"type": "Container", "max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
            id="max-limit",
        ),
        pytest.param(
            {"type": "Container", "max": {"cpu": "1"}},
            {},
            "maximum cpu usage per Container is 1.  No limit is specified",
            id="max-unsaid",
        ),
        pytest.param(
            {"type": "Container", "max": {"cpu": "1"}},
            {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but request is 2",
            id="max-request",
        ),
        pytest.param(
            {"type": "Container", "min": {"cpu": "1"}},
            {},
            "minimum cpu usage per Container is 1.  No request is specified",
            id="min-unsaid",
        ),
        pytest.param(
            {"type": "Container", "min": {"cpu": "1"}},
            {"requests": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but request is 500m",
            id="min-request",
        ),
        pytest.param(
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
            id="ratio",
        ),
        pytest.param(
            {"type": "Pod", "max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Pod is 1, but limit is 2",
            id="pod",
        ),
        pytest.param(
            {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "3"}},
            {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}},
            "[minimum cpu usage per Container is 3, but request is 2, "
            "maximum cpu usage per Container is 1, but limit is 2]",
            id="two",
        ),
    ],
)
def test_bounds(limit: Any, resources: Any, why: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        LimitRanger().validate(asked(pod(**resources)), world(limitranges=limits(limit)), 0.0)
    assert refused.value.message == f'pods "p" is forbidden: {why}'


def test_claims_have_bounds_on_storage(world: Any, asked: Any) -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "5Gi"}}}}
    ranges = limits({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}})
    with pytest.raises(ApiError, match="maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 5Gi"):
        LimitRanger().validate(asked(claim, PERSISTENT_VOLUME_CLAIMS), world(limitranges=ranges), 0.0)
    LimitRanger().admit(asked(claim, PERSISTENT_VOLUME_CLAIMS), world(limitranges=ranges), 0.0)


def test_bound_that_two_containers_break_is_told_once_and_of_the_first_range_only(world: Any, asked: Any) -> None:
    big = {"name": "c", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}}
    doc = {"metadata": {"name": "p"}, "spec": {"containers": [big, {**big, "name": "d"}]}}
    ranges = [
        *limits({"type": "Container", "max": {"cpu": "1"}}),
        *limits({"type": "Pod", "max": {"cpu": "1"}}),
    ]
    with pytest.raises(ApiError) as refused:
        LimitRanger().validate(asked(doc), world(limitranges=ranges), 0.0)
    assert refused.value.message == ('pods "p" is forbidden: maximum cpu usage per Container is 1, but limit is 2')


def test_resized_pod_is_held_to_the_bounds_and_gets_no_defaults(world: Any, asked: Any) -> None:
    plugin = LimitRanger()
    assert any(interest.covers("pods", "resize", Operation.UPDATE) for interest in plugin.interests)
    there = world(limitranges=limits({"type": "Container", "max": {"cpu": "1"}, "default": {"memory": "1Gi"}}))
    doc = pod(limits={"cpu": "2"})
    resized = asked(doc, operation=Operation.UPDATE, old=pod(), subresource="resize")
    plugin.admit(resized, there, 0.0)
    assert doc == pod(limits={"cpu": "2"})
    with pytest.raises(ApiError, match="maximum cpu usage per Container is 1, but limit is 2"):
        plugin.validate(resized, there, 0.0)
