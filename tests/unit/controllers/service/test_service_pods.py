"""Which pods stand behind a service, and whom a change of a pod concerns."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.services import Service, selecting_in
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.service.service_pods import by_ports, pod_keys, pods_behind, ports_of, service_keys

READY = [{"type": "Ready", "status": "True"}]
PORTS = [{"name": "web", "containerPort": 8080, "protocol": "TCP"}]


def pod(name: str = "p", **members: Any) -> Pod:
    labels = members.pop("labels", {"app": "web"})
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if members.pop("deleted", False) else {}
    body = {
        "metadata": {"name": name, "namespace": "team", "uid": name, "labels": labels, **deleted},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "ports": members.pop("ports", PORTS)}]},
        "status": {"podIP": "10.0.0.1", "phase": "Running", "conditions": READY, **members},
    }
    return msgspec.convert(body, Pod)


def service(name: str = "web", **spec: Any) -> Service:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 80}], **spec}
    return msgspec.convert({"metadata": {"name": name, "namespace": "team"}, "spec": spec}, Service)


def cache_of(*views: Any) -> InformerCache[Any]:
    indexers = {"namespace": lambda view: (view.metadata.namespace,)}
    if views and isinstance(views[0], Service):
        indexers["selecting"] = selecting_in
    cache: InformerCache[Any] = InformerCache(indexers)
    for view in views:
        cache.put(view.metadata.key, view)
    return cache


@pytest.mark.parametrize(
    ("one", "is_behind", "is_behind_while_terminating"),
    [
        pytest.param(pod(), True, True, id="running"),
        pytest.param(pod(labels={"app": "db"}), False, False, id="rule-1-other-labels"),
        pytest.param(pod(podIP=""), False, False, id="rule-1-no-address"),
        pytest.param(pod(phase="Succeeded"), False, False, id="rule-1-ended"),
        pytest.param(pod(conditions=[]), True, True, id="not-ready-is-behind-it-too"),
        pytest.param(pod(deleted=True), False, True, id="being-deleted"),
    ],
)
def test_who_is_behind_it(one: Pod, is_behind: bool, is_behind_while_terminating: bool) -> None:
    pods = cache_of(one)
    assert bool(pods_behind(service(), pods, with_terminating=False)) == is_behind
    assert bool(pods_behind(service(), pods, with_terminating=True)) == is_behind_while_terminating


@pytest.mark.parametrize(
    ("port", "numbers"),
    [
        pytest.param({"port": 80}, [80], id="its-own-number"),
        pytest.param({"port": 80, "targetPort": 9000}, [9000], id="another-number"),
        pytest.param({"port": 80, "targetPort": "web"}, [8080], id="rule-2-by-name"),
        pytest.param({"port": 80, "targetPort": "web", "protocol": "UDP"}, [], id="rule-2-other-protocol"),
        pytest.param({"port": 80, "targetPort": "nope"}, [], id="rule-2-no-such-name"),
    ],
)
def test_ports(port: dict[str, Any], numbers: list[int]) -> None:
    assert [number for _, number, _, _ in ports_of(service(ports=[port]), pod())] == numbers


def test_pods_with_other_numbers_under_one_name_are_apart() -> None:
    other = pod("q", ports=[{"name": "web", "containerPort": 9090}])
    found = by_ports(service(ports=[{"port": 80, "targetPort": "web"}]), [pod(), other])
    assert [[one.metadata.name for one in group] for group in found.values()] == [["p"], ["q"]]


def test_pod_that_is_reached_at_nothing_is_left_out_unless_nothing_is_asked_for() -> None:
    assert not by_ports(service(ports=[{"port": 80, "targetPort": "nope"}]), [pod()])
    assert list(by_ports(service(ports=[]), [pod()])) == [()]


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param(None, pod(), ["team/web"], id="came"),
        pytest.param(pod(), None, ["team/web"], id="went"),
        pytest.param(pod(), pod(), [], id="nothing-that-matters"),
        pytest.param(pod(conditions=[]), pod(), ["team/web"], id="became-ready"),
        pytest.param(pod(), pod(labels={"app": "db"}), ["team/db", "team/web"], id="changed-sides"),
        pytest.param(None, pod(labels={}), [], id="nobodys"),
    ],
)
def test_whom_a_pod_concerns(old: Pod | None, new: Pod | None, keys: list[str]) -> None:
    services = cache_of(service(), service("db", selector={"app": "db"}), service("bare", selector={}))
    assert list(pod_keys(services)(ObjectChange("pods", old, new))) == keys


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param(None, service(), ["team/web"], id="came"),
        pytest.param(service(), None, ["team/web"], id="went"),
        pytest.param(service(), service(), [], id="as-it-was"),
        pytest.param(service(), service(ports=[]), ["team/web"], id="other-ports"),
    ],
)
def test_which_changes_of_a_service_count(old: Service | None, new: Service | None, keys: list[str]) -> None:
    assert list(service_keys(ObjectChange("services", old, new))) == keys
