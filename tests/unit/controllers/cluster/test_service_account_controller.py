"""Every active namespace has its default account."""

from doorman.api.views.core import Namespace
from doorman.api.views.meta import Object
from doorman.client.actions import Create
from doorman.controllers.cluster.service_account_controller import ServiceAccountController
from support.stage import Stage


def stage_with() -> Stage:
    stage = Stage({"namespaces": Namespace, "serviceaccounts": Object})
    stage.create("namespaces", {"metadata": {"name": "old"}, "status": {"phase": "Active"}})
    stage.add(ServiceAccountController(stage.caches["namespaces"], stage.caches["serviceaccounts"]))
    return stage


def test_account_is_made_once_in_old_and_new_namespaces() -> None:
    stage = stage_with()
    stage.create("namespaces", {"metadata": {"name": "new"}, "status": {"phase": "Active"}})
    stage.settle()
    stage.patch("namespaces", "new", {"metadata": {"labels": {"a": "b"}}})
    stage.settle()
    assert [action.namespace for _, action in stage.done(Create)] == ["old", "new"]
    assert stage.get("serviceaccounts", "new/default") is not None


def test_deleted_account_comes_back_and_others_do_not() -> None:
    stage = stage_with()
    stage.create("serviceaccounts", {"metadata": {"namespace": "old", "name": "mine"}})
    stage.settle()
    stage.delete("serviceaccounts", "old/default")
    stage.delete("serviceaccounts", "old/mine")
    stage.settle()
    assert stage.get("serviceaccounts", "old/default") is not None
    assert stage.get("serviceaccounts", "old/mine") is None


def test_namespace_that_is_going_gets_none() -> None:
    stage = stage_with()
    stage.create("namespaces", {"metadata": {"name": "going"}, "status": {"phase": "Terminating"}})
    stage.settle()
    assert stage.get("serviceaccounts", "going/default") is None
