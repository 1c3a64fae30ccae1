"""The selector of default spreading: services and the controlling workload together."""

import msgspec

from doorman.api.views.apps import ReplicaSet, ReplicationController
from doorman.api.views.services import Service
from doorman.scheduler.cache.pod_shapes import Shape, ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from support.scheduling import make_pod

TABLE = ShapeTable(ResourceIds())


def shape(labels: dict[str, str], kind: str = "", api_version: str = "apps/v1") -> Shape:
    owner = [{"apiVersion": api_version, "kind": kind, "name": "w", "controller": True}] if kind else []
    return TABLE.take(make_pod("p", metadata={"labels": labels, "ownerReferences": owner}))


def service(name: str, selector: dict[str, str], namespace: str = "default") -> Service:
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}, Service
    )


def test_labels_of_all_services_that_select_the_pod_are_merged() -> None:
    workloads = WorkloadSelectors()
    pod = shape({"app": "web", "tier": "front"})
    assert workloads.selector_of(pod).is_everything
    workloads.changed("services", None, service("a", {"app": "web"}))
    workloads.changed("services", None, service("b", {"tier": "front"}))
    workloads.changed("services", None, service("c", {"app": "db"}))
    workloads.changed("services", None, service("d", {"app": "web", "tier": "front"}, "other"))
    workloads.changed("services", None, service("e", {}))
    assert str(workloads.selector_of(pod)) == "app=web,tier=front"
    workloads.changed("services", service("b", {"tier": "front"}), None)
    assert str(workloads.selector_of(pod)) == "app=web"


def test_selector_of_the_controller_is_added() -> None:
    workloads = WorkloadSelectors()
    document = {
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}},
    }
    workloads.changed("replicasets.apps", None, msgspec.convert(document, ReplicaSet))
    assert str(workloads.selector_of(shape({"app": "web"}, "ReplicaSet"))) == "app in (api,web)"
    assert workloads.selector_of(shape({"app": "web"}, "StatefulSet")).is_everything
    document["spec"] = {"selector": {"app": "web"}}
    workloads.changed("replicationcontrollers", None, msgspec.convert(document, ReplicationController))
    assert str(workloads.selector_of(shape({"app": "web"}, "ReplicationController", "v1"))) == "app=web"


def test_version_changes_only_when_a_selector_does() -> None:
    workloads = WorkloadSelectors()
    workloads.changed("services", None, service("a", {"app": "web"}))
    before = workloads.version
    workloads.changed("services", service("a", {"app": "web"}), service("a", {"app": "web"}))
    assert workloads.version == before
