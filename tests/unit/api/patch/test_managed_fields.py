"""managedFields of ordinary writes: who gains, who loses, what is never recorded."""

import copy
from typing import Any

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.managed_fields import ANCIENT, UPDATE_ENTRIES_MAX, ManagedFields, Manager, entries_of

MANAGED = ManagedFields(Schema(type_table()), builtin_kinds())
NODES = builtin_kinds().named("nodes")
NOW = 1767225600.0


def manager(name: str, **more: str) -> Manager:
    return Manager(name=name, operation="Update", api_version="v1", **more)


def node(*taints: str, **labels: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "n", "uid": "u", "resourceVersion": "1"}
    doc: dict[str, Any] = {"metadata": {**metadata, **({"labels": labels} if labels else {})}}
    if taints:
        doc["spec"] = {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}
    return doc


def created(doc: dict[str, Any], by: str = "me") -> dict[str, Any]:
    MANAGED.track_create(NODES, doc, manager(by), NOW)
    return doc


def changed(old: dict[str, Any], new: dict[str, Any], by: str, seconds: float = 1, **more: str) -> dict[str, Any]:
    new = copy.deepcopy(new)
    MANAGED.track_update(NODES, new, old, manager(by, **more), NOW + seconds)
    return new


def owners(doc: dict[str, Any]) -> dict[str, Any]:
    return {entry.manager.name: entry.fields for entry in entries_of(doc)}


def test_create_owns_what_it_brings_but_not_the_identity() -> None:
    assert owners(created(node("k", a="b"))) == {
        "me": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:taints": {}}}
    }


def test_whoever_changes_a_list_of_taints_has_all_of_it() -> None:
    after = changed(created(node("k")), node("k", "l"), "kubectl-taint")
    assert owners(after) == {"kubectl-taint": {"f:spec": {"f:taints": {}}}}, "the first owner has nothing left"


def test_removed_field_is_nobodys() -> None:
    before = created(node("k", a="b"))
    assert owners(changed(before, node(a="b"), "other")) == {"me": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}}


def test_write_that_changes_nothing_leaves_the_entries_as_they_are() -> None:
    before = created(node("k"))
    after = changed(before, node("k"), "other")
    assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]


def test_subresource_is_an_entry_of_its_own() -> None:
    before = created(node("k"))
    new = {**node("k"), "status": {"phase": "x"}}
    entries = entries_of(changed(before, new, "me", subresource="status"))
    assert [(entry.manager.name, entry.manager.subresource) for entry in entries] == [("me", ""), ("me", "status")]


def test_what_is_written_through_a_scale_does_not_say_when() -> None:
    """As upstream. Whoever writes the object afterwards leaves the entry as it is: an empty time nobody could read."""
    scaled = changed(created(node("k")), node("k", a="b"), "autoscaler", subresource="scale")
    entries = {entry["manager"]: entry for entry in scaled["metadata"]["managedFields"]}
    assert ("time" in entries["autoscaler"], "time" in entries["me"]) == (False, True)
    after = changed(scaled, {**node("k", "l", a="b")}, "other")
    entries = {entry["manager"]: entry for entry in after["metadata"]["managedFields"]}
    assert ("time" in entries["autoscaler"], "time" in entries["other"]) == (False, True)


def test_entries_can_be_cleared_and_stay_cleared() -> None:
    before = created(node("k"))
    asked = node("k", "l")
    asked["metadata"]["managedFields"] = [{}]
    cleared = changed(before, asked, "me")
    assert "managedFields" not in cleared["metadata"]
    assert "managedFields" not in changed(cleared, node("m"), "me")["metadata"]


def test_entries_are_not_changed_through_a_subresource() -> None:
    before = created(node("k"))
    asked = {**node("k"), "status": {"phase": "x"}}
    asked["metadata"]["managedFields"] = [{}]
    after = changed(before, asked, "other", subresource="status")
    assert [entry["manager"] for entry in after["metadata"]["managedFields"]] == ["me", "other"]


def test_entries_that_a_writer_gives_are_put_in_order() -> None:
    before = changed(created(node("k", a="b")), node("k", "l", a="b"), "other")
    asked = copy.deepcopy(before)
    asked["metadata"]["managedFields"].reverse()
    assert changed(before, asked, "third")["metadata"]["managedFields"] == before["metadata"]["managedFields"]


def test_many_managers_become_ancient() -> None:
    labels = {"first": "x"}
    doc = created(node(**labels))
    for number in range(UPDATE_ENTRIES_MAX + 3):
        labels[f"l{number}"] = "x"
        doc = changed(doc, node(**labels), f"m{number}", seconds=number)
    found = owners(doc)
    assert len(found) == UPDATE_ENTRIES_MAX
    assert ANCIENT in found
    assert f"m{UPDATE_ENTRIES_MAX + 2}" in found
    kept = {name for fields in found.values() for name in fields["f:metadata"]["f:labels"]}
    assert kept - {"."} == {f"f:{name}" for name in labels}, "no field has lost its owner"
