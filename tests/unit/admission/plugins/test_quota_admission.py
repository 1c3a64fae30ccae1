"""ResourceQuota."""

from contextlib import nullcontext
from typing import Any

import pytest

from doorman.admission.admission_configuration import LimitedResource
from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.quota_admission import ResourceQuotaPlugin
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
            {"cpu": "1"},
            [],
            pod(containers=[{"name": "z"}, {"name": "b"}], initContainers=[{"name": "a"}]),
            "failed quota: q: must specify cpu for: a,b,z",
            id="rule-3-init-containers-too-and-sorted",
        ),
        pytest.param(
            {"requests.memory": "1"},
            [],
            pod(resources={"requests": {"example.com/x": "1"}}),
            "failed quota: q: must specify requests.memory for: c",
            id="rule-3-the-pod-says-something-else",
        ),
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
        ResourceQuotaPlugin().limit(asked(new), world(resourcequotas=[quota(hard)], pods=stored), 0.0)
    assert refused.value.message == f'pods "p" is forbidden: {why}'


@pytest.mark.parametrize(
    ("hard", "stored"),
    [
        pytest.param({"pods": "2"}, [pod("a")], id="room"),
        pytest.param({"pods": "1"}, [pod("a", "Succeeded")], id="finished-pods-do-not-count"),
        pytest.param({"services": "0"}, [pod("a")], id="rule-2-about-something-else"),
    ],
)
def test_pod_within_quota_passes(hard: Any, stored: Any, world: Any, asked: Any) -> None:
    ResourceQuotaPlugin().limit(asked(pod()), world(resourcequotas=[quota(hard)], pods=stored), 0.0)


def test_what_is_used_with_it_is_noted_for_each_quota_that_counts_it(world: Any, asked: Any) -> None:
    new = sized("500m")
    quotas = [
        quota({"requests.cpu": "2", "pods": "3", "services": "1"}),
        {"metadata": {"name": "other"}, "spec": {"hard": {"services": "1"}}},
    ]
    attributes = asked(new)
    ResourceQuotaPlugin().limit(attributes, world(resourcequotas=quotas, pods=[sized("750m")]), 0.0)
    assert attributes.quota_used == {"q": {"requests.cpu": "1250m", "pods": "2"}}


@pytest.mark.parametrize(
    ("is_shared", "reported", "why", "used"),
    [
        pytest.param(False, {"pods": "3"}, None, {"q": {"pods": "2"}}, id="a-report"),
        pytest.param(True, {"pods": "3"}, "requested: pods=1, used: pods=3, limited: pods=3", {}, id="more"),
        pytest.param(True, {"pods": "2"}, None, {"q": {"pods": "3"}}, id="just-room"),
        pytest.param(True, {"pods": "0"}, None, {"q": {"pods": "2"}}, id="less-than-there-is"),
        pytest.param(True, {}, None, {"q": {"pods": "2"}}, id="no-report"),
    ],
)
def test_rule_4_what_others_have_noted_counts_where_there_are_others(
    is_shared: bool, reported: dict[str, str], why: str | None, used: Any, world: Any, asked: Any
) -> None:
    attributes = asked(pod())
    attributes.is_quota_shared = is_shared
    there = world(resourcequotas=[{**quota({"pods": "3"}), "status": {"used": reported}}], pods=[pod("a")])
    with pytest.raises(ApiError, match=why) if why is not None else nullcontext():
        ResourceQuotaPlugin().limit(attributes, there, 0.0)
    assert attributes.quota_used == used


def test_other_kinds_are_counted(world: Any, asked: Any) -> None:
    stored = [{"metadata": {"name": "a"}}]
    there = world(
        resourcequotas=[quota({"configmaps": "1", "count/deployments.apps": "1"})],
        configmaps=stored,
        deployments=stored,
    )
    for resource in ("configmaps", "deployments.apps"):
        with pytest.raises(ApiError, match="exceeded quota: q"):
            ResourceQuotaPlugin().limit(asked({"metadata": {"name": "b"}}, resource), there, 0.0)
    ResourceQuotaPlugin().limit(asked({"metadata": {"name": "b"}}, "secrets"), there, 0.0)
    ResourceQuotaPlugin().limit(asked({"metadata": {"name": "b"}}, "nodes", namespace=""), there, 0.0)


def test_pod_that_says_it_as_a_whole_need_not_say_it_for_each_container(world: Any, asked: Any) -> None:
    there = world(resourcequotas=[quota({"requests.cpu": "1", "limits.memory": "1Gi"})])
    ResourceQuotaPlugin().limit(asked(pod(resources={"requests": {"cpu": "1"}})), there, 0.0)
    with pytest.raises(ApiError, match=r"exceeded quota: q, requested: requests\.cpu=2"):
        ResourceQuotaPlugin().limit(asked(pod(resources={"requests": {"cpu": "2"}})), there, 0.0)


def service(kind: str, ports: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": [{"port": n + 1} for n in range(ports)]}}


def claim(size: str, allocated: str = "") -> dict[str, Any]:
    status = {"status": {"allocatedResources": {"storage": allocated}}} if allocated else {}
    return {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": size}}}, **status}


@pytest.mark.parametrize(
    ("resource", "subresource", "hard", "old", "new", "why"),
    [
        pytest.param(
            "services",
            "",
            {"services.nodeports": "1"},
            service("ClusterIP"),
            service("NodePort", 2),
            "requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1",
            id="rule-1-service-becomes-a-node-port",
        ),
        pytest.param(
            "services",
            "",
            {"services.loadbalancers": "0", "services.nodeports": "9", "services": "1"},
            service("NodePort"),
            service("LoadBalancer"),
            "requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0",
            id="rule-4-only-what-is-too-much-is-named",
        ),
        pytest.param(
            "services", "", {"services.nodeports": "0"}, service("NodePort", 3), service("NodePort", 2), "", id="less"
        ),
        pytest.param(
            "services", "", {"services": "0"}, service("ClusterIP"), service("ClusterIP", 2), "", id="not-one-more"
        ),
        pytest.param(
            "persistentvolumeclaims",
            "",
            {"requests.storage": "5Gi"},
            claim("4Gi"),
            claim("6Gi"),
            "requested: requests.storage=2Gi, used: requests.storage=4Gi, limited: requests.storage=5Gi",
            id="rule-1-claim-grows",
        ),
        pytest.param(
            "persistentvolumeclaims", "", {"requests.storage": "1Gi"}, claim("4Gi"), claim("3Gi"), "", id="shrinks"
        ),
        pytest.param(
            "persistentvolumeclaims",
            "",
            {"requests.storage": "5Gi"},
            claim("4Gi", "6Gi"),
            claim("5Gi", "6Gi"),
            "",
            id="allocated-already",
        ),
        pytest.param(
            "pods",
            "resize",
            {"requests.cpu": "1"},
            sized("700m"),
            sized("1200m"),
            "requested: requests.cpu=500m, used: requests.cpu=700m, limited: requests.cpu=1",
            id="rule-1-pod-is-resized",
        ),
        pytest.param("pods", "resize", {"requests.cpu": "1"}, sized("2"), sized("1500m"), "", id="still-too-much"),
        pytest.param("pods", "resize", {"pods": "0"}, sized("1"), sized("2"), "", id="pods-are-not-more"),
    ],
)
def test_change_counts_by_what_it_adds(
    resource: str, subresource: str, hard: Any, old: Any, new: Any, why: str, world: Any, asked: Any
) -> None:
    there = world(**{"resourcequotas": [quota(hard)], resource: [old]})
    changing = asked(new, resource, operation=Operation.UPDATE, old=old, subresource=subresource)
    assert any(interest.covers(resource, subresource, Operation.UPDATE) for interest in ResourceQuotaPlugin.interests)
    if not why:
        ResourceQuotaPlugin().limit(changing, there, 0.0)
        return
    with pytest.raises(ApiError) as refused:
        ResourceQuotaPlugin().limit(changing, there, 0.0)
    assert refused.value.message.endswith(f" is forbidden: exceeded quota: q, {why}")


@pytest.mark.parametrize(("resource", "subresource"), [("pods", ""), ("configmaps", ""), ("services", "status")])
def test_other_changes_are_not_looked_at(resource: str, subresource: str) -> None:
    assert not any(
        interest.covers(resource, subresource, Operation.UPDATE) for interest in ResourceQuotaPlugin.interests
    )


def test_quotas_are_counted_and_events_are_not(world: Any, asked: Any) -> None:
    there = world(resourcequotas=[quota({"resourcequotas": "1", "count/events": "0"})])
    with pytest.raises(ApiError, match="exceeded quota: q, requested: resourcequotas=1, used: resourcequotas=1"):
        ResourceQuotaPlugin().limit(asked({"metadata": {"name": "second"}}, "resourcequotas"), there, 0.0)
    ResourceQuotaPlugin().limit(asked({"metadata": {"name": "e"}}, "events"), there, 0.0)


def test_silence_under_a_later_quota_comes_before_too_much_under_an_earlier_one(world: Any, asked: Any) -> None:
    later = {**quota({"cpu": "1"}), "metadata": {"name": "r"}}
    there = world(resourcequotas=[quota({"pods": "0"}), later])
    with pytest.raises(ApiError, match="failed quota: r: must specify cpu for: c"):
        ResourceQuotaPlugin().limit(asked(pod()), there, 0.0)


VIP = {"scopeName": "PriorityClass", "operator": "In", "values": ["vip", "king"]}
BY_SCOPE = LimitedResource(resource="pods", match_scopes=(VIP,))
BY_NAME = LimitedResource(resource="pods", match_contains=("gpu",))


@pytest.mark.parametrize(
    ("limited", "quotas", "new", "status", "why"),
    [
        pytest.param(BY_SCOPE, [], pod(), 0, "", id="not-in-scope"),
        pytest.param(
            BY_SCOPE,
            [],
            pod(priorityClassName="vip"),
            500,
            "insufficient quota to match these scopes: [{PriorityClass In [vip king]}]",
            id="rule-5-scope-no-quota",
        ),
        pytest.param(
            BY_SCOPE,
            [quota({"pods": "9"})],
            pod(priorityClassName="vip"),
            500,
            "insufficient quota to match these scopes: [{PriorityClass In [vip king]}]",
            id="rule-5-scope-quota-without-it",
        ),
        pytest.param(
            BY_SCOPE,
            [quota({"pods": "9"}, scopeSelector={"matchExpressions": [VIP]})],
            pod(priorityClassName="vip"),
            0,
            "",
            id="rule-5-scope-covered",
        ),
        pytest.param(
            BY_SCOPE,
            [quota({"pods": "0"}, scopeSelector={"matchExpressions": [VIP]})],
            pod(priorityClassName="vip"),
            403,
            'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
            id="rule-5-scope-covered-and-full",
        ),
        pytest.param(
            BY_NAME,
            [quota({"pods": "9"})],
            sized("1", "example.com/gpu"),
            403,
            'pods "p" is forbidden: insufficient quota to consume: requests.example.com/gpu',
            id="rule-5-name",
        ),
        pytest.param(
            BY_NAME,
            [quota({"requests.example.com/gpu": "1"})],
            sized("1", "example.com/gpu"),
            0,
            "",
            id="rule-5-name-covered",
        ),
        pytest.param(BY_NAME, [], sized("1"), 0, "", id="takes-none"),
    ],
)
def test_limited_by_default(
    limited: LimitedResource, quotas: Any, new: Any, status: int, why: str, world: Any, asked: Any
) -> None:
    plugin = ResourceQuotaPlugin([limited])
    if not status:
        plugin.limit(asked(new), world(resourcequotas=quotas), 0.0)
        return
    with pytest.raises(ApiError) as refused:
        plugin.limit(asked(new), world(resourcequotas=quotas), 0.0)
    assert (refused.value.code, refused.value.message) == (status, why)
