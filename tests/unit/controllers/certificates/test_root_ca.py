"""The certificate authority is in every namespace, and stays what it is."""

from doorman.api.views.namespaces import Namespace
from doorman.api.views.serviceaccounts import ConfigMap
from doorman.client.actions import Create
from doorman.controllers.certificates.root_ca import RootCaController
from support.stage import Stage

KEY = "a/kube-root-ca.crt"


def stage_with() -> Stage:
    stage = Stage({"namespaces": Namespace, "configmaps": ConfigMap})
    stage.create("namespaces", {"metadata": {"name": "a"}, "status": {"phase": "Active"}})
    stage.add(RootCaController(stage.caches["namespaces"], stage.caches["configmaps"], root_ca="CERT"))
    stage.settle()
    return stage


def data(stage: Stage) -> dict[str, str]:
    document = stage.get("configmaps", KEY)
    assert document is not None
    found: dict[str, str] = document["data"]
    return found


def test_config_map_is_made_once() -> None:
    stage = stage_with()
    assert data(stage) == {"ca.crt": "CERT"}
    stage.patch("namespaces", "a", {"metadata": {"labels": {"a": "b"}}})
    stage.settle()
    assert len(stage.done(Create)) == 1


def test_changed_or_deleted_config_map_is_restored() -> None:
    stage = stage_with()
    stage.patch("configmaps", KEY, {"data": {"ca.crt": "FORGED", "more": "x"}})
    stage.settle()
    assert data(stage) == {"ca.crt": "CERT"}
    stage.delete("configmaps", KEY)
    stage.settle()
    assert data(stage) == {"ca.crt": "CERT"}


def test_namespace_that_is_going_gets_none() -> None:
    stage = stage_with()
    stage.create("namespaces", {"metadata": {"name": "b"}, "status": {"phase": "Terminating"}})
    stage.settle()
    assert stage.get("configmaps", "b/kube-root-ca.crt") is None
