"""When the pods of claims must leave."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import DeviceTaintRule, ResourceSlice
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.base.instants import from_time
from doorman.client.informer_cache import InformerCache
from doorman.controllers.devices.claim_evictions import (
    BY_POOL,
    claim_eviction,
    evicting_taints,
    pod_eviction,
    slice_pools,
)
from doorman.semantics.devices.device_taints import ClaimEviction
from support.claims import a_claim, a_slice
from support.devices import DRIVER, device, taint

MIDNIGHT = "2026-01-01T00:00:00Z"
AT = from_time(MIDNIGHT)


def slices(*each: ResourceSlice) -> InformerCache[ResourceSlice]:
    cache: InformerCache[ResourceSlice] = InformerCache({BY_POOL: slice_pools})
    for one in each:
        cache.put(one.metadata.name, one)
    return cache


def a_rule(name: str, selector: dict[str, str] | None, **more: Any) -> DeviceTaintRule:
    spec: dict[str, Any] = {"taint": taint(timeAdded=MIDNIGHT, **more)}
    if selector is not None:
        spec["deviceSelector"] = selector
    return msgspec.convert({"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}, DeviceTaintRule)


def allocated(*tolerations: dict[str, Any], users: tuple[str, ...] = ("p",)) -> ResourceClaim:
    result = {"driver": DRIVER, "pool": "node-1", "device": "a", "tolerations": list(tolerations)}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": user, "uid": f"uid-{user}"} for user in users],
    }
    claim = a_claim()
    return msgspec.structs.replace(claim, status=msgspec.convert(status, type(claim.status)))


def until(seconds: int | None, effect: str = "NoExecute", **more: Any) -> dict[str, Any]:
    return {
        "operator": "Exists",
        "effect": effect,
        **({} if seconds is None else {"tolerationSeconds": seconds}),
        **more,
    }


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], AT, id="not tolerated"),
        pytest.param([until(None)], None, id="for ever"),
        pytest.param([until(30), until(10)], AT + 10, id="the smallest"),
        pytest.param([until(10), until(None)], None, id="for ever, however many others"),
        pytest.param([until(-5)], AT, id="less than nothing"),
        pytest.param([until(None, effect="")], AT, id="no effect protects from nothing"),
        pytest.param([until(None, key="other")], AT, id="another key"),
    ],
)
def test_instant_of_a_claim(tolerations: list[Any], expected: float | None) -> None:
    found = claim_eviction(allocated(*tolerations), {}, {"r": a_rule("r", {})})
    assert (None if found is None else found.when) == expected


def test_reasons_are_rules_by_name_then_published_taints() -> None:
    tainted = device("a", taint(effect="NoSchedule"), taint(timeAdded=MIDNIGHT), taint("hot", timeAdded=MIDNIGHT))
    published = {f"{DRIVER}/node-1": evicting_taints(slices(a_slice("node-1", tainted)), f"{DRIVER}/node-1")}
    rules = {name: a_rule(name, {"pool": "node-1"}) for name in ("z", "b")}
    found = claim_eviction(allocated(), published, rules)
    assert found is not None
    assert [str(reason) for reason in found.reasons] == [
        "DeviceTaintRule b", "DeviceTaintRule z",
        f"taint #1 of device {DRIVER}/node-1/a", f"taint #2 of device {DRIVER}/node-1/a",
    ]  # fmt: skip


def test_rule_without_selector_evicts_nobody_and_of_a_pool_only_the_newest_counts() -> None:
    assert claim_eviction(allocated(), {}, {"r": a_rule("r", None)}) is None
    old, new = a_slice("node-1", device("a", taint())), a_slice("node-1", "a", generation=2, name="newer")
    assert evicting_taints(slices(old, new), f"{DRIVER}/node-1") == {}


def a_pod(*, node: str = "node-1", uid: str = "uid-p", template: bool = False, told: bool = True) -> Pod:
    entry = {"name": "d", **({"resourceClaimTemplateName": "t"} if template else {"resourceClaimName": "c"})}
    status = {"resourceClaimStatuses": [{"name": "d", "resourceClaimName": "c"}]} if told else {}
    document = {
        "metadata": {"namespace": "default", "name": "p", "uid": uid},
        "spec": {"nodeName": node, "resourceClaims": [entry]},
        "status": status,
    }
    return msgspec.convert(document, Pod)


@pytest.mark.parametrize(
    ("pod", "leaves"),
    [
        pytest.param(a_pod(), True, id="reserved and on a node"),
        pytest.param(a_pod(node=""), False, id="no node yet"),
        pytest.param(a_pod(uid="another"), False, id="a namesake"),
        pytest.param(a_pod(template=True), False, id="a template's claim that is not the pod's own"),
        pytest.param(a_pod(template=True, told=False), False, id="not told of its claim"),
    ],
)
def test_pods_of_a_claim(pod: Pod, leaves: bool) -> None:
    eviction = ClaimEviction(AT, ())
    assert (pod_eviction(pod, {"default/c": (allocated(), eviction)}) == eviction) is leaves
