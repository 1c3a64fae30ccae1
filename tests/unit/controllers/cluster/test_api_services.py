"""An APIService for every group version that is served."""

from typing import Any

import msgspec

from doorman.api.views.apiextensions import CustomResourceDefinition
from doorman.api.views.meta import Object
from doorman.client.actions import Create, Delete
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.cluster.api_services import (
    MANAGED,
    ApiServiceController,
    decide_priorities,
    decide_service,
    definition_keys,
)


def definition(*, established: bool = True, versions: tuple[str, ...] = ("v1",)) -> Any:
    conditions = [{"type": "Established", "status": "True"}] if established else []
    body = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "versions": [{"name": name, "served": True} for name in versions]},
        "status": {"conditions": conditions},
    }
    return msgspec.convert(body, CustomResourceDefinition)


def service(name: str, **labels: str) -> Any:
    return msgspec.convert({"metadata": {"name": name, "uid": "u", "labels": labels}}, Object)


def cache_of(*views: Any) -> InformerCache[Any]:
    cache: InformerCache[Any] = InformerCache({})
    for view in views:
        cache.put(view.metadata.name, view)
    return cache


def controller(*definitions: Any, services: tuple[Any, ...] = ()) -> ApiServiceController:
    builtin = {"": ["v1"], "apps": ["v1"], "apiregistration.k8s.io": ["v1"]}
    return ApiServiceController(builtin, cache_of(*definitions), cache_of(*services))


def test_every_builtin_version_is_looked_at_in_the_beginning() -> None:
    assert [key for key, _ in controller().start(0.0).wakes] == ["v1.", "v1.apps"]


def test_version_of_api_services_themselves_has_none() -> None:
    assert controller().reconcile("v1.apiregistration.k8s.io", 0.0).actions == ()


def test_missing_one_is_made_and_one_that_is_there_is_left() -> None:
    (action,) = controller().reconcile("v1.apps", 0.0).actions
    assert isinstance(action, Create)
    assert action.body["metadata"] == {"name": "v1.apps", "labels": {MANAGED: "onstart"}}
    assert controller(services=(service("v1.apps"),)).reconcile("v1.apps", 0.0).actions == ()


def test_custom_version_has_one_from_establishment_to_the_end() -> None:
    key = "v1.example.com"
    assert controller(definition(established=False)).reconcile(key, 0.0).actions == ()
    (made,) = controller(definition()).reconcile(key, 0.0).actions
    assert isinstance(made, Create)
    assert made.body["spec"]["groupPriorityMinimum"] == 1000
    own = service(key, **{MANAGED: "true"})
    assert controller(services=(own,)).reconcile(key, 0.0).actions == (
        Delete(resource="apiservices.apiregistration.k8s.io", name=key, uid="u"),
    )
    assert controller(services=(service(key),)).reconcile(key, 0.0).actions == (), "somebody else's"


def test_definition_wakes_the_versions_it_had_and_has() -> None:
    change = ObjectChange("crd", definition(versions=("v1beta1",)), definition(versions=("v1beta1", "v1")))
    assert list(definition_keys(change)) == ["v1beta1.example.com", "v1.example.com"]


def test_priorities_put_the_core_first_and_newer_before_older() -> None:
    core, apps = decide_priorities("", "v1", is_builtin=True), decide_priorities("apps", "v1", is_builtin=True)
    assert core[0] > apps[0] > decide_priorities("batch", "v1", is_builtin=True)[0]
    newer, older = (decide_priorities("autoscaling", version, is_builtin=True) for version in ("v2", "v1"))
    assert (newer[0], newer[1] > older[1]) == (older[0], True)


def test_the_core_group_is_not_named_in_the_spec() -> None:
    assert decide_service("", "v1", is_builtin=True)["spec"] == {
        "version": "v1",
        "groupPriorityMinimum": 18000,
        "versionPriority": 1,
    }
