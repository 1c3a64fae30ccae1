"""The API's own service comes back when somebody deletes it."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.meta import Object
from doorman.base.clock import Instant
from doorman.client.actions import Create
from doorman.client.controller_contract import DONE, ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.service.kubernetes_service import KubernetesServiceController

SERVICE = {"metadata": {"name": "kubernetes"}, "spec": {}}


def view(name: str = "kubernetes", namespace: str = "default") -> Any:
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace, "uid": "u"}}, Object)


def controller(*, there: bool) -> KubernetesServiceController:
    cache: InformerCache[Any] = InformerCache({})
    if there:
        cache.put("default/kubernetes", view())
    return KubernetesServiceController({"services": cache}, {"services": SERVICE})


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(ObjectChange("services", view(), None), ["services"], id="deleted"),
        pytest.param(ObjectChange("services", None, view()), [], id="made"),
        pytest.param(ObjectChange("services", view("web"), None), [], id="another"),
        pytest.param(ObjectChange("services", view(namespace="team"), None), [], id="elsewhere"),
    ],
)
def test_who_wakes_it(change: ObjectChange, keys: list[str]) -> None:
    source = KubernetesServiceController.sources[0]
    assert list(source.keys(change)) == keys


def test_missing_service_is_made() -> None:
    result = controller(there=False).reconcile("services", Instant(0))
    assert result.actions == (Create(resource="services", namespace="default", body=SERVICE),)


@pytest.mark.parametrize("key", ["services", "endpoints"], ids=["there", "nothing-said-about-it"])
def test_nothing_to_do(key: str) -> None:
    assert controller(there=True).reconcile(key, Instant(0)) == DONE
