"""Endpoints of the name of a service."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.services import Endpoints, Service, selecting_in
from doorman.base.clock import Instant
from doorman.client.actions import Create, Delete, Patch, PatchType, Update
from doorman.client.controller_contract import DONE
from doorman.client.informer_cache import InformerCache
from doorman.controllers.service.endpoints_controller import (
    MANAGED_BY,
    MANAGER,
    EndpointsController,
    decide_labels,
    decide_subsets,
)
from support.cluster import Story, run_story

NOW = Instant(0)
SPEC = {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}


def service(**spec: Any) -> Service:
    body = {"metadata": {"name": "web", "namespace": "team", "labels": {"x": "y"}}, "spec": {**SPEC, **spec}}
    return msgspec.convert(body, Service)


def pod(name: str, *, ready: bool = True) -> Pod:
    body = {
        "metadata": {"name": name, "namespace": "team", "uid": f"u-{name}", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1"},
        "status": {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    return msgspec.convert(body, Pod)


def address(name: str) -> dict[str, Any]:
    reference = {"kind": "Pod", "namespace": "team", "name": name, "uid": f"u-{name}"}
    return {"ip": "10.0.0.1", "nodeName": "n1", "targetRef": reference}


def controller(*views: Any) -> EndpointsController:
    caches: dict[type, InformerCache[Any]] = {
        kind: InformerCache({"namespace": lambda view: (view.metadata.namespace,), "selecting": _selecting})
        for kind in (Service, Pod, Endpoints)
    }
    for view in views:
        caches[type(view)].put(view.metadata.key, view)
    return EndpointsController(caches[Service], caches[Pod], caches[Endpoints])


def _selecting(view: Any) -> tuple[str, ...]:
    return selecting_in(view) if isinstance(view, Service) else ()


def endpoints(*subsets: dict[str, Any], **labels: str) -> Endpoints:
    metadata = {"name": "web", "namespace": "team", "labels": labels}
    return msgspec.convert({"metadata": metadata, "subsets": list(subsets)}, Endpoints)


PORT = {"name": "http", "port": 8080, "protocol": "TCP"}
LABELS = {"x": "y", MANAGED_BY: MANAGER}


def test_ready_ones_and_others_are_told_apart() -> None:
    assert decide_subsets(service(), [pod("a"), pod("b", ready=False)]) == [
        {"addresses": [address("a")], "notReadyAddresses": [address("b")], "ports": [PORT]}
    ]


def test_all_are_published_if_the_service_says_so() -> None:
    (subset,) = decide_subsets(service(publishNotReadyAddresses=True), [pod("b", ready=False)])
    assert "notReadyAddresses" not in subset


def test_labels_are_the_services_and_say_who_manages_it() -> None:
    assert decide_labels(service()) == LABELS
    assert decide_labels(service(clusterIPs=["None"])) == {**LABELS, "service.kubernetes.io/headless": ""}


@pytest.mark.parametrize(
    ("views", "action"),
    [
        pytest.param([service(), pod("a")], Create, id="missing"),
        pytest.param([service()], Create, id="missing-and-empty"),
        pytest.param([service(), pod("a"), endpoints(**LABELS)], Update, id="others-than-there-are"),
        pytest.param([service(), endpoints()], Update, id="other-labels"),
        pytest.param([endpoints(**LABELS)], Delete, id="service-is-gone"),
        pytest.param([service(), endpoints(**LABELS)], None, id="as-it-should-be"),
        pytest.param([service(selector={}), endpoints()], None, id="without-selector-it-is-somebody-elses"),
        pytest.param([service(type="ExternalName")], None, id="external-name"),
        pytest.param([], None, id="nothing-there"),
    ],
)
def test_what_is_done(views: list[Any], action: type[Any] | None) -> None:
    result = controller(*views).reconcile("team/web", NOW)
    assert [type(one) for one in result.actions] == ([action] if action else [])
    assert action is not None or result == DONE


def test_endpoints_without_a_service_stay_when_they_are_changed() -> None:
    """Who makes them by hand may do so before the service, and locks were kept in them once."""

    async def story(cluster: Story) -> None:
        def there() -> list[str]:
            return [one.metadata.name for one in cluster.cluster.informers.lister("endpoints").list()]

        where = {"resource": "endpoints", "namespace": "default"}
        await cluster.client.create(Create(**where, body={"metadata": {"name": "mine"}}))
        for count in ("1", "2"):
            body = {"metadata": {"annotations": {"lock": count}}}
            await cluster.client.patch(Patch(**where, name="mine", body=body, type=PatchType.MERGE))
            await cluster.advance(5)
        assert "mine" in there()
        spec = {"ports": [{"port": 80}]}
        service_of_mine = {"metadata": {"name": "mine"}, "spec": spec}
        await cluster.client.create(Create(resource="services", namespace="default", body=service_of_mine))
        await cluster.advance(5)
        assert "mine" in there()
        await cluster.client.delete(Delete(resource="services", namespace="default", name="mine"))
        await cluster.advance(5)
        assert "mine" not in there(), "they go with the service"

    run_story(story, nodes=0)


def test_endpoints_of_a_service_come_back() -> None:
    async def story(cluster: Story) -> None:
        body = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
        await cluster.client.create(Create(resource="services", namespace="default", body=body))
        await cluster.advance(5)
        await cluster.client.delete(Delete(resource="endpoints", namespace="default", name="web"))
        await cluster.advance(5)
        assert cluster.cluster.informers.lister("endpoints").get("default/web") is not None

    run_story(story, nodes=0)
