"""ResourceQuota."""

from typing import Any

import pytest

from doorman.admission.resource_quota import ResourceQuota
from doorman.base.errors import ApiError


def quota(hard: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}


def pod(name: str = "p", phase: str = "Pending", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}], **spec}, "status": {"phase": phase}}


def sized(amount: str, name: str = "cpu") -> dict[str, Any]:
    return pod(containers=[{"name": "c", "resources": {"requests": {name: amount}, "limits": {name: amount}}}])


@pytest.mark.parametrize(
    ("hard", "stored", "new", "why"),
    [
        pytest.param(
            {"pods": "2"},
            [pod("a"), pod("b")],
            pod(),
            "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
            id="pods",
        ),
        pytest.param(
            {"requests.cpu": "1"},
            [sized("700m")],
            sized("500m"),
            "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=700m, limited: requests.cpu=1",
            id="cpu",
        ),
        pytest.param(
            {"requests.memory": "1Gi"},
            [sized("512Mi", "memory")],
            sized("768Mi", "memory"),
            "exceeded quota: q, requested: requests.memory=768Mi, used: requests.memory=512Mi,"
            " limited: requests.memory=1Gi",
            id="memory-as-it-was-said",
        ),
        pytest.param({"cpu": "1"}, [], pod(), "failed quota: q: must specify cpu for: c", id="unsaid"),
        pytest.param(
            {"limits.memory": "1", "requests.cpu": "1"},
            [],
            pod(),
            "failed quota: q: must specify limits.memory for: c; requests.cpu for: c",
            id="unsaid-two",
        ),
    ],
)
def test_pod_over_quota_is_refused(hard: Any, stored: Any, new: Any, why: str, world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        ResourceQuota().limit(asked(new), world(resourcequotas=[quota(hard)], pods=stored), 0.0)
    assert refused.value.message == f'pods "p" is forbidden: {why}'


@pytest.mark.parametrize(
    ("hard", "stored"),
    [
        pytest.param({"pods": "2"}, [pod("a")], id="room"),
        pytest.param({"pods": "1"}, [pod("a", "Succeeded")], id="finished-pods-do-not-count"),
        pytest.param({"services": "0"}, [pod("a")], id="about-something-else"),
    ],
)
def test_pod_within_quota_passes(hard: Any, stored: Any, world: Any, asked: Any) -> None:
    ResourceQuota().limit(asked(pod()), world(resourcequotas=[quota(hard)], pods=stored), 0.0)


def test_other_kinds_are_counted(world: Any, asked: Any) -> None:
    stored = [{"metadata": {"name": "a"}}]
    there = world(
        resourcequotas=[quota({"configmaps": "1", "count/deployments.apps": "1"})],
        configmaps=stored,
        deployments=stored,
    )
    for resource in ("configmaps", "deployments.apps"):
        with pytest.raises(ApiError, match="exceeded quota: q"):
            ResourceQuota().limit(asked({"metadata": {"name": "b"}}, resource), there, 0.0)
    ResourceQuota().limit(asked({"metadata": {"name": "b"}}, "secrets"), there, 0.0)
    ResourceQuota().limit(asked({"metadata": {"name": "b"}}, "nodes", namespace=""), there, 0.0)
