"""What a rule comes to, in numbers."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import DeviceTaintRule, ResourceSlice
from doorman.client.informer_cache import InformerCache
from doorman.controllers.devices.claim_evictions import BY_POOL, slice_pools
from doorman.controllers.devices.device_rule_counts import rule_counts
from doorman.controllers.devices.device_rule_status import RuleCounts
from doorman.semantics.devices.device_taints import ClaimEviction, rule_reason
from support.claims import a_claim, a_slice
from support.devices import DRIVER, taint


def a_rule(effect: str, selector: dict[str, str]) -> DeviceTaintRule:
    spec = {"deviceSelector": selector, "taint": taint(effect=effect, timeAdded="2026-01-01T00:00:00Z")}
    return msgspec.convert({"metadata": {"name": "r", "uid": "uid-r"}, "spec": spec}, DeviceTaintRule)


def counted(rule: DeviceTaintRule, *, is_evicting: bool = False, evicted: int = 0) -> RuleCounts:
    result = {"driver": DRIVER, "pool": "node-1", "device": "a"}
    reserved = [{"resource": "pods", "name": "p", "uid": "uid-p"}]
    claim = a_claim()
    status: Any = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
    claim = msgspec.structs.replace(claim, status=msgspec.convert(status, type(claim.status)))
    planned = {"default/p/uid-p": ClaimEviction(0.0, (rule_reason(rule),))} if is_evicting else {}
    pods: InformerCache[Pod] = InformerCache()
    document = {
        "metadata": {"namespace": "default", "name": "p", "uid": "uid-p"},
        "spec": {"nodeName": "node-1", "resourceClaims": [{"name": "d", "resourceClaimName": "c"}]},
    }
    pods.put("default/p", msgspec.convert(document, Pod))
    slices: InformerCache[ResourceSlice] = InformerCache({BY_POOL: slice_pools})
    slices.put("s", a_slice("node-1", "a", "b"))
    return rule_counts(rule, {"default/c": (claim, None)}, planned, {}, pods, slices, evicted)


@pytest.mark.parametrize(
    ("rule", "options", "expected"),
    [
        pytest.param(
            a_rule("NoExecute", {}), {"is_evicting": True},
            RuleCounts(pending_pods=1, pending_namespaces=1), id="pending",
        ),
        pytest.param(a_rule("NoExecute", {}), {"evicted": 3}, RuleCounts(evicted_pods=3), id="done"),
        pytest.param(a_rule("NoSchedule", {}), {}, RuleCounts(), id="another effect"),
        pytest.param(
            a_rule("None", {"pool": "node-1"}), {},
            RuleCounts(pending_pods=1, pending_namespaces=1, published_devices=2, allocated_devices=1), id="a dry run",
        ),
        pytest.param(
            a_rule("None", {"device": "b"}), {}, RuleCounts(published_devices=1), id="a dry run that hits nobody"
        ),
    ],
)  # fmt: skip
def test_counts(rule: DeviceTaintRule, options: Any, expected: RuleCounts) -> None:
    assert counted(rule, **options) == expected
