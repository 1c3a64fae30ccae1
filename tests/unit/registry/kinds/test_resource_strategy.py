"""What becomes of kinds of resource.k8s.io before they are written."""

import copy
from typing import Any

from doorman.api.kinds import builtin_kinds
from doorman.registry.strategies import strategy_of

NOW = 1_700_000_000.0
TIME = "2023-11-14T22:13:20Z"
EARLIER = "2020-01-01T00:00:00Z"
RESULT = {"driver": "d", "pool": "p", "device": "d0"}


def written(
    resource: str, doc: dict[str, Any], old: dict[str, Any] | None = None, subresource: str = ""
) -> dict[str, Any]:
    kind = builtin_kinds().named(f"{resource}.resource.k8s.io")
    new = {"metadata": {"name": "x"}, **copy.deepcopy(doc)}
    if (default_times := strategy_of(kind).default_times) is not None:
        default_times(new, NOW)
    if old is None:
        strategy_of(kind).create(kind, new, NOW)
    else:
        before = {"metadata": {"name": "x"}, **copy.deepcopy(old)}
        strategy_of(kind).for_update(subresource)(kind, new, before, NOW)
    return new


def test_taint_of_a_device_is_dated_whenever_it_says_no_time() -> None:
    def device(taint: dict[str, str]) -> dict[str, Any]:
        return {"spec": {"devices": [{"name": "d", "taints": [taint]}]}}

    undated = {"key": "k", "effect": "NoExecute"}
    stored = written("resourceslices", device(undated))
    assert stored["spec"]["devices"][0]["taints"][0]["timeAdded"] == TIME
    again = written("resourceslices", device(undated), device({**undated, "timeAdded": EARLIER}))
    assert again["spec"]["devices"][0]["taints"][0]["timeAdded"] == TIME
    kept = written("resourceslices", device({**undated, "timeAdded": EARLIER}))
    assert kept["spec"]["devices"][0]["taints"][0]["timeAdded"] == EARLIER


def test_members_of_features_that_are_off_are_dropped() -> None:
    device = {
        "name": "d",
        "attributes": {"a": {"ints": [1]}, "b": {"int": 1}},
        "nodeAllocatableResources": {"cpu": {}},
        "consumesCounters": [{"counterSet": "c", "compatibilityGroups": ["g"]}],
    }
    spec = {"devices": [device], "partitionTypeAttribute": "d/a", "skipNodeOperations": ["*"]}
    assert written("resourceslices", {"spec": spec})["spec"] == {
        "devices": [{"name": "d", "attributes": {"a": {}, "b": {"int": 1}}, "consumesCounters": [{"counterSet": "c"}]}]
    }
    request = {"name": "r", "exactly": {"deviceClassName": "c", "derivedAttributes": [{}]}}
    claim = {"devices": {"requests": [request]}}
    plain = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    assert written("resourceclaims", {"spec": claim})["spec"] == plain
    assert written("resourceclaimtemplates", {"spec": {"spec": claim}})["spec"] == {"spec": plain}


def test_report_on_a_device_goes_with_its_allocation() -> None:
    def claim(*results: dict[str, Any], devices: list[dict[str, Any]]) -> dict[str, Any]:
        allocation = {"allocation": {"devices": {"results": list(results)}}} if results else {}
        return {"spec": {}, "status": {**allocation, "devices": devices}}

    other = {**RESULT, "device": "d1"}
    old = claim(RESULT, other, devices=[RESULT, other])
    found = written("resourceclaims", claim(other, devices=[RESULT, other]), old, "status")
    assert found["status"]["devices"] == [other]
    assert "devices" not in written("resourceclaims", claim(devices=[RESULT, other]), old, "status")["status"]


def test_toleration_of_a_result_is_equal_unless_it_says_otherwise() -> None:
    results = [{**RESULT, "tolerations": [{"key": "k"}, {"operator": "Exists"}]}]
    new = {"spec": {}, "status": {"allocation": {"devices": {"results": results}}}}
    found = written("resourceclaims", new, {"spec": {}}, "status")
    tolerations = found["status"]["allocation"]["devices"]["results"][0]["tolerations"]
    assert [one["operator"] for one in tolerations] == ["Equal", "Exists"]


def test_rule_counts_from_the_change_of_its_effect() -> None:
    def rule(effect: str, time: str = "") -> dict[str, Any]:
        return {"spec": {"taint": {"key": "k", "effect": effect, **({"timeAdded": time} if time else {})}}}

    assert written("devicetaintrules", rule("None"))["spec"]["taint"]["timeAdded"] == TIME
    old = rule("None", EARLIER)
    assert written("devicetaintrules", rule("NoExecute", EARLIER), old)["spec"]["taint"]["timeAdded"] == TIME
    assert written("devicetaintrules", rule("None", EARLIER), old)["spec"]["taint"]["timeAdded"] == EARLIER
    chosen = "2021-01-01T00:00:00Z"
    assert written("devicetaintrules", rule("NoExecute", chosen), old)["spec"]["taint"]["timeAdded"] == chosen
