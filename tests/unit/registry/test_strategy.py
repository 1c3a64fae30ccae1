"""The rules all kinds share: who may write what, and what counts as a change."""

import copy
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.registry.strategy import (
    Strategy,
    is_changed,
    prepare_create,
    prepare_status,
    prepare_update,
    restore,
    take_only,
)

NOW = 0.0
DEPLOYMENTS, CONFIG_MAPS = builtin_kinds().named("deployments.apps"), builtin_kinds().named("configmaps")


def doc(**more: Any) -> dict[str, Any]:
    return copy.deepcopy({"metadata": {"name": "x", "generation": 1}, "spec": {"replicas": 1}, **more})


def test_new_object_has_no_status_and_the_first_generation() -> None:
    new = doc(status={"replicas": 9})
    prepare_create(DEPLOYMENTS, new, NOW)
    assert "status" not in new
    assert new["metadata"]["generation"] == 1
    plain: dict[str, Any] = {"metadata": {"name": "x"}, "status": "anything"}
    prepare_create(CONFIG_MAPS, plain, NOW)
    assert plain == {"metadata": {"name": "x"}, "status": "anything"}


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        pytest.param({"spec": {"replicas": 2}}, 2, id="spec"),
        pytest.param({"status": {"replicas": 2}}, 1, id="status-is-written-apart"),
        pytest.param({"metadata": {"name": "x", "generation": 1, "labels": {"a": "b"}}}, 1, id="metadata"),
        pytest.param({"extra": 1}, 2, id="anything-else"),
    ],
)
def test_generation_counts_changes(change: dict[str, Any], generation: int) -> None:
    old, new = doc(status={"replicas": 1}), doc(**change)
    prepare_update(DEPLOYMENTS, new, old, NOW)
    assert new["metadata"]["generation"] == generation
    assert new["status"] == {"replicas": 1}


def test_status_endpoint_takes_status_and_metadata() -> None:
    old = doc(status={"replicas": 1})
    new = doc(spec={"replicas": 9}, status={"replicas": 2}, metadata={"name": "x", "labels": {"a": "b"}})
    prepare_status(DEPLOYMENTS, new, old, NOW)
    assert (new["spec"], new["status"]) == ({"replicas": 1}, {"replicas": 2})
    assert new["metadata"]["labels"] == {"a": "b"}


def test_take_only_keeps_who_manages_what() -> None:
    old, new = doc(), doc(spec={"replicas": 2}, other=1)
    new["metadata"]["managedFields"] = ["m"]
    take_only(new, old, "other")
    assert new == {**old, "other": 1, "metadata": {**old["metadata"], "managedFields": ["m"]}}
    assert "managedFields" not in old["metadata"], "what is stored is not changed"


def test_restore_also_takes_away_what_was_not_there() -> None:
    new = {"status": 2}
    restore(new, {}, "status")
    assert new == {}
    restore(new, {"status": 1}, "status")
    assert new == {"status": 1}


def test_member_that_goes_is_a_change() -> None:
    assert is_changed(DEPLOYMENTS, {"metadata": {}}, {"metadata": {}, "spec": {}})
    assert not is_changed(DEPLOYMENTS, {"metadata": {}, "kind": "a"}, {"metadata": {"x": 1}, "kind": "b"})


def test_strategy_of_a_subresource() -> None:
    def other(*_: Any) -> None: ...

    strategy = Strategy(
        create=prepare_create, update=prepare_update, status=prepare_status, subresources={"scale": other}
    )
    assert strategy.for_update("") is prepare_update
    assert strategy.for_update("status") is prepare_status
    assert strategy.for_update("scale") is other


def test_field_owners_see_only_what_can_be_written_there() -> None:
    strategy = Strategy(
        create=prepare_create, update=prepare_update, status=prepare_status, status_metadata=("finalizers",)
    )
    old = doc(status={"replicas": 1}, metadata={"name": "x", "finalizers": ["f"]})
    new = doc(spec={"replicas": 2}, status={"replicas": 2}, metadata={"name": "x", "labels": {"a": "b"}})
    seen = strategy.owned(DEPLOYMENTS, "status", new, old)
    assert seen == {
        "metadata": {"name": "x", "labels": {"a": "b"}, "finalizers": ["f"]},
        "spec": {"replicas": 1},
        "status": {"replicas": 2},
    }
    through_main = strategy.owned(DEPLOYMENTS, "", new, old)
    assert through_main is not None
    assert (through_main["spec"], through_main["status"]) == ({"replicas": 2}, {"replicas": 1})
    assert strategy.owned(DEPLOYMENTS, "scale", new, old) is None
