"""Slices of endpoints of a service."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.services import EndpointSlice, Service
from doorman.base.clock import Instant
from doorman.client.actions import Create, Delete, Update
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.service.endpoint_slices import (
    ENDPOINTS_MAX,
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    EndpointSliceController,
    decide_contents,
    slice_keys,
)

NOW = Instant(0)
OURS = {MANAGED_BY: MANAGER, SERVICE_NAME: "web"}
SPEC = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}


def service(**spec: Any) -> Service:
    body = {"metadata": {"name": "web", "namespace": "team", "uid": "u"}, "spec": {**SPEC, **spec}}
    return msgspec.convert(body, Service)


def pod(name: str, *, ready: bool = True, deleted: bool = False) -> Pod:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    body = {
        "metadata": {"name": name, "namespace": "team", "uid": name, "labels": {"app": "web"}, **gone},
        "spec": {"nodeName": "n1"},
        "status": {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    return msgspec.convert(body, Pod)


def found(name: str, **labels: str) -> EndpointSlice:
    body = {"metadata": {"name": name, "namespace": "team", "uid": name, "labels": labels or OURS}}
    return msgspec.convert(body, EndpointSlice)


def cache_of(*views: Any) -> InformerCache[Any]:
    cache: InformerCache[Any] = InformerCache({"namespace": lambda view: (view.metadata.namespace,)})
    for view in views:
        cache.put(view.metadata.key, view)
    return cache


NODES: InformerCache[Any] = InformerCache({})
NODES.put("n1", msgspec.convert({"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z"}}}, Node))


@pytest.mark.parametrize(
    ("one", "publishes", "conditions"),
    [
        pytest.param(pod("p"), False, (True, True, False), id="ready"),
        pytest.param(pod("p", ready=False), False, (False, False, False), id="not-ready"),
        pytest.param(pod("p", deleted=True), False, (False, True, True), id="going"),
        pytest.param(pod("p", ready=False), True, (True, False, False), id="published-all-the-same"),
    ],
)
def test_conditions_of_an_endpoint(one: Pod, publishes: bool, conditions: tuple[bool, ...]) -> None:
    ((endpoints, ports),) = decide_contents(service(publishNotReadyAddresses=publishes), [one], NODES)
    reference = {"kind": "Pod", "namespace": "team", "name": "p", "uid": "p"}
    assert endpoints == [
        {
            "addresses": ["10.0.0.1"],
            "conditions": dict(zip(("ready", "serving", "terminating"), conditions, strict=True)),
            "targetRef": reference,
            "nodeName": "n1",
            "zone": "z",
        }
    ]
    assert ports == [{"name": "", "port": 8080, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("pods", "sizes"),
    [
        pytest.param(0, [0], id="none-is-one-without"),
        pytest.param(ENDPOINTS_MAX, [ENDPOINTS_MAX], id="full"),
        pytest.param(ENDPOINTS_MAX + 1, [ENDPOINTS_MAX, 1], id="one-more"),
    ],
)
def test_size_of_slices(pods: int, sizes: list[int]) -> None:
    contents = decide_contents(service(), [pod(f"p{i:03}") for i in range(pods)], NODES)
    assert [len(endpoints) for endpoints, _ in contents] == sizes


@pytest.mark.parametrize(
    ("services", "slices", "actions"),
    [
        pytest.param([service()], [], [Create], id="missing"),
        pytest.param([service()], [found("web-1")], [Update], id="others-than-there-are"),
        pytest.param([service()], [found("web-1"), found("web-2")], [Update, Delete], id="one-too-many"),
        pytest.param([service()], [found("own", **{SERVICE_NAME: "web"})], [Create], id="somebody-elses-stays"),
        pytest.param([service(selector={})], [], [], id="without-selector"),
        pytest.param([], [found("web-1")], [], id="the-garbage-collector-takes-those-of-nobody"),
    ],
)
def test_what_is_done(services: list[Service], slices: list[EndpointSlice], actions: list[type[Any]]) -> None:
    controller = EndpointSliceController(cache_of(*services), cache_of(pod("p")), cache_of(*slices), NODES)
    result = controller.reconcile("team/web", NOW)
    assert [type(action) for action in result.actions] == actions


def test_what_was_made_is_left_alone() -> None:
    made = EndpointSliceController(cache_of(service()), cache_of(pod("p")), cache_of(), NODES)
    (create,) = made.reconcile("team/web", NOW).actions
    assert isinstance(create, Create)
    assert create.body["metadata"]["ownerReferences"][0]["uid"] == "u"
    stored = msgspec.convert({**create.body, "metadata": {**create.body["metadata"], "name": "web-1"}}, EndpointSlice)
    again = EndpointSliceController(cache_of(service()), cache_of(pod("p")), cache_of(stored), NODES)
    assert not again.reconcile("team/web", NOW).actions


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        pytest.param(ObjectChange("s", found("web-1"), None), ["team/web"], id="deleted"),
        pytest.param(ObjectChange("s", None, found("web-1")), [], id="made"),
        pytest.param(ObjectChange("s", found("x", a="b"), None), [], id="somebody-elses"),
    ],
)
def test_who_wakes_it(change: ObjectChange, keys: list[str]) -> None:
    assert list(slice_keys(change)) == keys
