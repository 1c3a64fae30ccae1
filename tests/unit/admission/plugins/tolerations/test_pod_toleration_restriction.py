"""PodTolerationRestriction: what the recorded cases leave out."""

from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.tolerations.pod_toleration_restriction import PodTolerationRestriction
from doorman.api.taints import Toleration
from doorman.base.errors import ApiError

DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
TEAM = {"key": "team", "operator": "Exists"}
PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
CLUSTER = Toleration(key="cluster", operator="Exists")


def namespace(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": "ns", "annotations": annotations}}


def pod(*tolerations: dict[str, Any], burstable: bool = False, status: dict[str, Any] | None = None) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1"}} if burstable else {}
    spec = {"containers": [{"name": "c", "resources": resources}], "tolerations": list(tolerations)}
    return {"metadata": {"name": "p"}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("annotations", "doc", "expected"),
    [
        pytest.param({}, pod(), [{"key": "cluster", "operator": "Exists"}], id="rule-1-cluster-default"),
        pytest.param({DEFAULTS: '[{"key":"team","operator":"Exists"}]'}, pod(), [TEAM], id="rule-1-namespace-first"),
        pytest.param({DEFAULTS: "[]"}, pod(burstable=True), [PRESSURE], id="rule-2-not-best-effort"),
        pytest.param({DEFAULTS: ""}, pod(status={"qosClass": "Burstable"}), [PRESSURE], id="rule-2-class-in-status"),
        pytest.param({DEFAULTS: ""}, pod(TEAM, TEAM, burstable=True), [TEAM, PRESSURE], id="rule-3-merged"),
        pytest.param({DEFAULTS: ""}, pod(TEAM, TEAM), [TEAM, TEAM], id="rule-3-nothing-added-nothing-merged"),
        pytest.param({DEFAULTS: "null"}, pod(), [], id="rule-5-null-is-an-answer"),
    ],
)
def test_create(annotations: Any, doc: Any, expected: Any, world: Any, asked: Any) -> None:
    plugin = PodTolerationRestriction(defaults=[CLUSTER])
    plugin.admit(asked(doc), world(namespaces=[namespace(**annotations)]), 0.0)
    assert doc["spec"]["tolerations"] == expected


def test_update_adds_no_defaults_but_memory_pressure(world: Any, asked: Any) -> None:
    doc = pod(burstable=True)
    plugin = PodTolerationRestriction(defaults=[CLUSTER])
    plugin.admit(asked(doc, operation=Operation.UPDATE, old=doc), world(namespaces=[namespace()]), 0.0)
    assert doc["spec"]["tolerations"] == [PRESSURE]


@pytest.mark.parametrize(
    ("annotations", "owner"),
    [
        pytest.param({}, "cluster", id="rule-4-cluster"),
        pytest.param({WHITELIST: '[{"key":"other","operator":"Exists"}]'}, "namespace", id="rule-4-namespace"),
    ],
)
def test_rule_4_whitelist_refuses(annotations: Any, owner: str, world: Any, asked: Any) -> None:
    plugin = PodTolerationRestriction(whitelist=[CLUSTER])
    with pytest.raises(ApiError) as refused:
        plugin.admit(asked(pod(TEAM)), world(namespaces=[namespace(**annotations)]), 0.0)
    assert (refused.value.code, refused.value.reason) == (500, "")
    assert refused.value.message.endswith(f"conflict with its {owner} whitelist")


def test_rule_5_empty_whitelist_of_the_namespace_overrides_the_cluster(world: Any, asked: Any) -> None:
    plugin = PodTolerationRestriction(whitelist=[CLUSTER])
    plugin.admit(asked(pod(TEAM)), world(namespaces=[namespace(**{WHITELIST: ""})]), 0.0)


def test_missing_namespace_is_a_404(world: Any, asked: Any) -> None:
    with pytest.raises(ApiError, match='namespaces "ns" not found'):
        PodTolerationRestriction().admit(asked(pod()), world(), 0.0)
