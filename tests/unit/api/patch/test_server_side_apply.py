"""Server-side apply: ownership, conflicts, what is left out goes."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.managed_fields import ManagedFields, Manager
from doorman.api.patch.server_side_apply import BEFORE_FIRST_APPLY, Applier
from doorman.base.errors import ApiError

SCHEMA = Schema(type_table())
APPLIER, MANAGED = Applier(SCHEMA, builtin_kinds()), ManagedFields(SCHEMA, builtin_kinds())
NODES, PODS = builtin_kinds().named("nodes"), builtin_kinds().named("pods")
NOW = 1767225600.0
K1, K2 = {"key": "k1", "effect": "NoSchedule"}, {"key": "k2", "effect": "NoExecute"}


def applies(name: str) -> Manager:
    return Manager(name=name, operation="Apply", api_version="v1")


def updates(name: str) -> Manager:
    return Manager(name=name, operation="Update", api_version="v1")


def node(**spec: Any) -> Any:
    return {"metadata": {"name": "n"}, "spec": spec}


def apply(live: Any, config: Any, manager: str, *, force: bool = False, now: float = NOW, kind: Any = NODES) -> Any:
    return APPLIER.apply(kind, live, config, applies(manager), force=force, now=now)


def owners(doc: Any) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in doc["metadata"].get("managedFields", ())}


def test_first_apply_owns_exactly_what_it_says() -> None:
    made = apply(None, node(taints=[K1], unschedulable=True), "a")
    assert owners(made) == {"a": {"f:spec": {"f:taints": {}, "f:unschedulable": {}}}}
    assert made["metadata"]["managedFields"][0]["operation"] == "Apply"


def test_taints_are_one_field_and_conflict_as_a_whole() -> None:
    live = apply(None, node(taints=[K1]), "a")
    with pytest.raises(ApiError) as refused:
        apply(live, node(taints=[K1, K2]), "b")
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "a": .spec.taints'
    assert (refused.value.code, refused.value.causes[0].field) == (409, ".spec.taints")


def test_force_takes_the_field() -> None:
    live = apply(None, node(taints=[K1], unschedulable=True), "a")
    taken = apply(live, node(taints=[K2]), "b", force=True)
    assert taken["spec"] == {"taints": [K2], "unschedulable": True}
    assert owners(taken) == {"a": {"f:spec": {"f:unschedulable": {}}}, "b": {"f:spec": {"f:taints": {}}}}


def test_what_is_unowned_is_taken_from_who_is_said_to_own_it() -> None:
    live = apply(None, node(taints=[K1], unschedulable=True), "a")
    wanted = node(taints=[K2], unschedulable=False)
    taints = {"f:spec": {"f:taints": {}}}
    with pytest.raises(ApiError) as refused:
        APPLIER.apply(NODES, live, wanted, applies("b"), force=False, unowned=taints, now=NOW)
    assert [cause.field for cause in refused.value.causes] == [".spec.unschedulable"]
    both = {"f:spec": {"f:taints": {}, "f:unschedulable": {}}}
    taken = APPLIER.apply(NODES, live, wanted, applies("b"), force=False, unowned=both, now=NOW)
    assert owners(taken) == {"b": both}


def test_who_applies_what_is_there_owns_it_since_nobody_knows_when() -> None:
    live = apply(None, node(taints=[K1]), "a")
    shared = apply(live, node(taints=[K1]), "b", now=NOW + 5)
    assert [(one["manager"], "time" in one) for one in shared["metadata"]["managedFields"]] == [
        ("b", False),
        ("a", True),
    ]


def test_the_same_value_is_owned_by_both() -> None:
    both = apply(apply(None, node(taints=[K1]), "a"), node(taints=[K1]), "b")
    assert owners(both) == {"a": {"f:spec": {"f:taints": {}}}, "b": {"f:spec": {"f:taints": {}}}}
    left = apply(both, node(), "a")
    assert left["spec"] == {"taints": [K1]}, "somebody else still wants it"


def test_what_is_left_out_goes() -> None:
    live = apply(None, {"metadata": {"name": "n", "labels": {"x": "1", "y": "2"}}, "spec": {"taints": [K1]}}, "a")
    after = apply(live, {"metadata": {"name": "n", "labels": {"x": "1"}}}, "a")
    assert after["metadata"]["labels"] == {"x": "1"}
    assert "taints" not in after.get("spec", {})


def test_last_label_that_is_left_out_leaves_the_rest_of_the_metadata() -> None:
    live = apply(None, {"metadata": {"name": "n", "labels": {"x": "1"}}, "spec": {"unschedulable": True}}, "a")
    after = apply(live, {"metadata": {"name": "n"}}, "a")
    assert after["metadata"]["name"] == "n"
    assert "labels" not in after["metadata"]
    assert after["spec"] == {}, "a struct that is always shown"


@pytest.mark.parametrize(
    ("moved", "labels"),
    [
        pytest.param({".": {}, "f:x": {}}, {"x": "1", "y": "2"}, id="the-map-and-what-is-applied-again"),
        pytest.param({".": {}, "f:x": {}, "f:y": {}}, {"x": "1"}, id="and-one-that-is-not"),
    ],
)
def test_entry_that_was_moved_from_client_side_apply_takes_nothing_away(moved: Any, labels: dict[str, str]) -> None:
    """kubectl hands the entry of `apply` over to `apply --server-side`: it names the map, a configuration does not."""
    live = apply(None, {"metadata": {"name": "n", "labels": {"x": "1"}}}, "a")
    live["metadata"]["labels"] = {"x": "1", "y": "2"}
    live["metadata"]["managedFields"][0]["fieldsV1"] = {"f:metadata": {"f:labels": moved}}
    after = apply(live, {"metadata": {"name": "n", "labels": {"x": "1"}}}, "a")
    assert after["metadata"]["labels"] == labels
    assert owners(after) == {"a": {"f:metadata": {"f:labels": {"f:x": {}}}}}


def test_map_stays_as_long_as_somebody_owns_a_member() -> None:
    live = apply(None, {"metadata": {"name": "n", "labels": {"x": "1"}}}, "a")
    live = apply(live, {"metadata": {"name": "n", "labels": {"y": "2"}}}, "b")
    live["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"]["."] = {}
    after = apply(live, {"metadata": {"name": "n"}}, "a")
    assert after["metadata"]["labels"] == {"y": "2"}


def test_no_change_keeps_the_time() -> None:
    live = apply(None, node(taints=[K1]), "a")
    assert apply(live, node(taints=[K1]), "a", now=NOW + 60) == live


def test_object_without_owners_belongs_to_before_first_apply() -> None:
    after = apply(node(unschedulable=True), node(taints=[K1]), "a")
    assert owners(after)[BEFORE_FIRST_APPLY] == {"f:spec": {"f:unschedulable": {}}}


def test_keyed_lists_merge_by_key() -> None:
    def pod(*containers: Any) -> Any:
        return {"metadata": {"name": "p"}, "spec": {"containers": list(containers)}}

    live = apply(None, pod({"name": "a", "image": "1"}), "one", kind=PODS)
    both = apply(live, pod({"name": "b", "image": "2"}), "two", kind=PODS)
    assert [c["name"] for c in both["spec"]["containers"]] == ["a", "b"]
    with pytest.raises(ApiError) as refused:
        apply(both, pod({"name": "a", "image": "9"}), "two", kind=PODS)
    assert refused.value.causes[0].field == '.spec.containers[name="a"].image'


def test_ordinary_update_takes_what_it_changes() -> None:
    live = apply(None, node(taints=[K1], unschedulable=True), "a")
    live["metadata"]["resourceVersion"] = "1"
    new = {**live, "metadata": dict(live["metadata"]), "spec": {"taints": [K2], "unschedulable": True}}
    MANAGED.track_update(NODES, new, live, updates("kubectl-taint"), NOW + 5)
    assert owners(new) == {
        "a": {"f:spec": {"f:unschedulable": {}}},
        "kubectl-taint": {"f:spec": {"f:taints": {}}},
    }
    with pytest.raises(ApiError, match=r'conflict with "kubectl-taint" using v1: \.spec\.taints'):
        apply(new, node(taints=[K1]), "a")


def test_updates_beyond_ten_become_ancient() -> None:
    live = node()
    MANAGED.track_create(NODES, live, updates("first"), NOW)
    for number in range(14):
        new = {
            **live,
            "metadata": {**live["metadata"], "labels": {**live["metadata"].get("labels", {}), f"l{number}": ""}},
        }
        MANAGED.track_update(NODES, new, live, updates(f"m{number:02}"), NOW + number)
        if number == 0 and "managedFields" not in new["metadata"]:
            MANAGED.track_create(NODES, new, updates("m00"), NOW)
        live = new
    names = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(names) == 10
    assert names[0] == "ancient-changes"


def test_null_takes_the_place_of_one_field_and_conflicts() -> None:
    live = apply(None, node(taints=[K1], unschedulable=True), "a")
    with pytest.raises(ApiError) as refused:
        apply(live, node(taints=None), "b")
    assert [cause.field for cause in refused.value.causes] == [".spec.taints"]
    assert apply(live, node(taints=None), "b", force=True)["spec"]["taints"] is None


def test_null_leaves_what_is_many_fields() -> None:
    live = apply(None, {"metadata": {"name": "n", "labels": {"x": "1"}}}, "a")
    after = apply(live, {"metadata": {"name": "n", "labels": None}}, "b")
    assert after["metadata"]["labels"] == {"x": "1"}
    assert owners(after)["b"] == {"f:metadata": {"f:labels": {}}}


def test_empty_map_is_owned() -> None:
    made = apply(None, {"metadata": {"name": "n", "annotations": {}}, "spec": {"podCIDRs": []}}, "a")
    assert owners(made) == {"a": {"f:metadata": {"f:annotations": {}}}}, "an empty set has nothing to own"


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        pytest.param("abc", "abc", "abc", id="the-same"),
        pytest.param("ab", "bn", "abn", id="a-new-one-at-the-end"),
        pytest.param("abc", "axc", "abxc", id="a-live-one-before-a-new-one"),
        pytest.param("abcd", "xbd", "axbcd", id="a-new-one-before-what-it-precedes"),
        pytest.param("abc", "cba", "cba", id="shared-ones-in-the-order-that-is-wanted"),
    ],
)
def test_merged_list_is_in_order(live: str, wanted: str, expected: str) -> None:
    def pod(names: str) -> Any:
        return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": name} for name in names]}}

    before = apply(None, pod(live), "a", kind=PODS)
    after = apply(before, pod(wanted), "b", kind=PODS)
    assert "".join(one["name"] for one in after["spec"]["containers"]) == expected
