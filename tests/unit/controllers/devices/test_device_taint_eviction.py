"""The controller's own memory; what it does in a cluster is told in tests/integration/test_device_eviction.py."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import TAINT_RULES, DeviceTaintRule, ResourceSlice
from doorman.api.views.resource.resource_claims import CLAIMS, ResourceClaim
from doorman.base.instants import from_time
from doorman.client.actions import Delete, Patch, RecordEvent
from doorman.client.controller_contract import ObjectChange, Result
from doorman.client.informer_cache import InformerCache
from doorman.controllers.devices.claim_evictions import BY_POOL, claim_pools, slice_pools
from doorman.controllers.devices.device_taint_eviction import (
    DeviceTaintEvictionController,
    claim_keys,
    pod_keys,
    rule_keys,
)
from support.claims import a_claim
from support.devices import DRIVER, taint

MIDNIGHT = "2026-01-01T00:00:00Z"
AT = from_time(MIDNIGHT)


class Desk:
    def __init__(self, **options: Any) -> None:
        self.pods: InformerCache[Pod] = InformerCache()
        self.claims: InformerCache[ResourceClaim] = InformerCache({BY_POOL: claim_pools})
        self.slices: InformerCache[ResourceSlice] = InformerCache({BY_POOL: slice_pools})
        self.rules: InformerCache[DeviceTaintRule] = InformerCache()
        self.controller = DeviceTaintEvictionController(self.pods, self.claims, self.slices, self.rules, **options)
        document = {
            "metadata": {"namespace": "default", "name": "p", "uid": "uid-p"},
            "spec": {"nodeName": "node-1", "resourceClaims": [{"name": "d", "resourceClaimName": "c"}]},
        }
        self.pod = msgspec.convert(document, Pod)
        self.pods.put("default/p", self.pod)
        result = {"driver": DRIVER, "pool": "node-1", "device": "a"}
        reserved = [{"resource": "pods", "name": "p", "uid": "uid-p"}]
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
        claim = a_claim()
        self.claims.put("default/c", msgspec.structs.replace(claim, status=msgspec.convert(status, type(claim.status))))
        self.controller.reconcile("claim/default/c", AT)

    def rule(self, **more: Any) -> DeviceTaintRule:
        spec = {"deviceSelector": {}, "taint": taint(timeAdded=MIDNIGHT, **more)}
        metadata = {"name": "r", "uid": "uid-r", "generation": 1}
        rule = msgspec.convert({"metadata": metadata, "spec": spec}, DeviceTaintRule)
        self.rules.put("r", rule)
        return rule

    def tainted(self, **more: Any) -> Result:
        """The rule is made, and the claim that it concerns looked at."""
        self.rule(**more)
        assert self.controller.reconcile("rule/r", AT).wakes == [("claim/default/c", AT), ("status/r", AT)]
        return self.controller.reconcile("claim/default/c", AT)


def test_deletion_carries_the_uid_and_comes_after_event_and_condition() -> None:
    desk = Desk()
    assert ("evict/default/p/uid-p", AT) in desk.tainted().wakes
    result = desk.controller.reconcile("evict/default/p/uid-p", AT)
    event, detail, delete = result.actions
    assert isinstance(event, RecordEvent)
    assert event.message == "Marking for deletion"
    assert isinstance(detail, RecordEvent)
    assert isinstance(delete, Delete)
    assert (delete.uid, delete.grace_seconds) == ("uid-p", None)
    assert delete.status_patch is not None
    assert [one["type"] for one in delete.status_patch["status"]["conditions"]] == ["DisruptionTarget"]
    assert result.retry.attempts_max > 10**9


def test_success_is_counted_once_and_not_repeated() -> None:
    desk = Desk()
    desk.tainted()
    desk.controller.reconcile("evict/default/p/uid-p", AT)
    desk.controller.reconcile("gone/default/p/uid-p", AT + 2)
    desk.controller.reconcile("gone/default/p/uid-p", AT + 3)
    deletions = next(iter(desk.controller.metrics[0].collect())).samples[0].value
    assert deletions == 1.0
    desk.controller.reconcile("claim/default/c", AT + 4)
    assert desk.controller.reconcile("evict/default/p/uid-p", AT + 4).actions == ()


def test_pod_that_is_gone_is_dropped_without_a_word() -> None:
    desk = Desk()
    desk.tainted()
    desk.pods.remove("default/p")
    assert desk.controller.reconcile("evict/default/p/uid-p", AT).actions == ()
    assert next(iter(desk.controller.metrics[0].collect())).samples[0].value == 0.0


def test_status_is_written_at_once_and_then_at_most_every_ten_seconds() -> None:
    desk = Desk()
    desk.tainted()
    rule = desk.rules.get("r")
    assert rule is not None
    [patch] = desk.controller.reconcile("status/r", AT).actions
    assert isinstance(patch, Patch)
    [condition] = patch.body["status"]["conditions"]
    assert (condition["reason"], condition["observedGeneration"]) == ("PodsPendingEviction", 1)
    status = msgspec.convert({"conditions": [condition]}, type(rule.status))
    desk.rules.put("r", msgspec.structs.replace(rule, status=status))
    assert desk.controller.reconcile("status/r", AT + 4).wakes == (("status/r", AT + 10),)


def test_only_what_matters_wakes_it() -> None:
    desk = Desk()
    assert list(pod_keys(ObjectChange("pods", desk.pod, desk.pod))) == []
    rule = desk.rule()
    assert list(rule_keys(ObjectChange(TAINT_RULES, rule, rule))) == []
    assert list(rule_keys(ObjectChange(TAINT_RULES, None, rule))) == ["rule/r"]


def test_without_the_gate_rules_are_not_followed() -> None:
    resources = [source.resource for source in Desk(taint_rules=False).controller.sources]
    assert TAINT_RULES not in resources


def test_only_claims_that_have_devices_or_had_some_are_looked_at() -> None:
    with_devices = Desk().claims.get("default/c")
    assert list(claim_keys(ObjectChange(CLAIMS, None, a_claim()))) == []
    assert list(claim_keys(ObjectChange(CLAIMS, a_claim(), with_devices))) == ["claim/default/c"]
    assert list(claim_keys(ObjectChange(CLAIMS, with_devices, a_claim()))) == ["claim/default/c"]
    assert list(claim_keys(ObjectChange(CLAIMS, with_devices, None))) == ["claim/default/c"]


@pytest.mark.parametrize(
    ("node", "told", "expected"),
    [
        pytest.param("", [], [], id="it has no node"),
        pytest.param("", [{"name": "d", "resourceClaimName": "c"}], [], id="it is told of its claim, without a node"),
        pytest.param("n", [], ["pod/default/p"], id="it got a node"),
    ],
)
def test_only_pods_that_have_a_node_are_looked_at(node: str, told: list[Any], expected: list[str]) -> None:
    before = msgspec.convert(
        {
            "metadata": {"namespace": "default", "name": "p", "uid": "uid-p"},
            "spec": {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}]},
        },
        Pod,
    )
    spec = msgspec.structs.replace(before.spec, node_name=node)
    status = msgspec.convert({"resourceClaimStatuses": told}, type(before.status))
    after = msgspec.structs.replace(before, spec=spec, status=status)
    assert list(pod_keys(ObjectChange("pods", before, after))) == expected


def test_rule_concerns_only_claims_whose_devices_it_names() -> None:
    desk = Desk()
    spec = {"deviceSelector": {"device": "another"}, "taint": taint(timeAdded=MIDNIGHT)}
    elsewhere = msgspec.convert({"metadata": {"name": "r", "uid": "uid-r"}, "spec": spec}, DeviceTaintRule)
    desk.rules.put("r", elsewhere)
    assert desk.controller.reconcile("rule/r", AT).wakes == [("status/r", AT)]
    desk.tainted()
    desk.rules.put("r", elsewhere)
    assert ("claim/default/c", AT) in desk.controller.reconcile("rule/r", AT).wakes, "it did before"
    [cancelled] = desk.controller.reconcile("claim/default/c", AT).actions
    assert isinstance(cancelled, RecordEvent)
    assert cancelled.message == "Cancelling deletion"
