"""Status of quotas."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from doorman.api.views.core import ResourceQuota
from doorman.api.views.pods import Pod
from doorman.client.controller_contract import ObjectChange, Source
from doorman.client.informer_cache import InformerCache
from doorman.controllers.cluster.resource_quota_controller import (
    RESYNC_SECONDS,
    ResourceQuotaController,
    decide_status,
    decide_used,
    object_keys,
    pod_keys,
    quota_keys,
)

HARD = {"pods": "2", "requests.cpu": "1", "count/widgets.example.com": "3"}


def quota(hard: dict[str, str] = HARD, name: str = "q", namespace: str = "a", status: Any = None) -> ResourceQuota:
    doc = {"metadata": {"name": name, "namespace": namespace}, "spec": {"hard": hard}, "status": status or {}}
    return msgspec.convert(doc, ResourceQuota)


def pod(phase: str = "Running", cpu: str = "1", **spec: Any) -> Pod:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    doc = {"metadata": {"name": "p", "namespace": "a"}, "spec": {"containers": containers, **spec}}
    return msgspec.convert({**doc, "status": {"phase": phase}}, Pod)


def controller(*quotas: ResourceQuota, used: dict[str, Fraction] | None = None) -> ResourceQuotaController:
    cache: InformerCache[ResourceQuota] = InformerCache({"namespace": lambda one: (one.metadata.namespace,)})
    for one in quotas:
        cache.put(one.metadata.key, one)
    resources = ("events", "pods", "resourcequotas", "services")
    return ResourceQuotaController(cache, resources, lambda *_: used or {})


def test_used_has_what_anything_counts_for_also_at_zero() -> None:
    totals = {"pods": {"pods": Fraction(1)}}
    assert decide_used(HARD, totals.get) == {"pods": "1", "requests.cpu": "0"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(quota(), {"hard": HARD, "used": {"pods": "1"}}, id="1-new"),
        pytest.param(
            quota({"pods": "2"}, status={"hard": HARD, "used": {"pods": "1", "requests.cpu": "1"}}),
            {
                "hard": {"pods": "2", "requests.cpu": None, "count/widgets.example.com": None},
                "used": {"pods": "1", "requests.cpu": None},
            },
            id="1-names-that-left-the-spec",
        ),
        pytest.param(
            quota(status={"hard": HARD, "used": {"pods": "2"}}), {"hard": HARD, "used": {"pods": "1"}}, id="1-used"
        ),
        pytest.param(quota(status={"hard": HARD, "used": {"pods": "1"}}), None, id="3-unchanged"),
        pytest.param(quota(status={"hard": HARD, "used": {"pods": "1000m"}}), None, id="3-in-other-words"),
    ],
)
def test_status(found: ResourceQuota, expected: Any) -> None:
    patch = decide_status(found, {"pods": "1"})
    assert (patch.body["status"] if patch is not None else None) == expected


@pytest.mark.parametrize(
    ("old", "new", "wakes"),
    [
        pytest.param(None, pod(), True, id="comes"),
        pytest.param(pod(), None, True, id="goes"),
        pytest.param(pod(), pod("Succeeded"), True, id="finishes"),
        pytest.param(pod(), pod(cpu="2"), True, id="is-resized"),
        pytest.param(pod(), pod(activeDeadlineSeconds=5), True, id="is-in-other-scopes"),
        pytest.param(pod("Pending"), pod(nodeName="n"), False, id="is-placed-and-runs"),
    ],
)
def test_pods_that_wake(old: Pod | None, new: Pod | None, wakes: bool) -> None:
    assert list(pod_keys(ObjectChange("pods", old, new))) == (["namespace/a"] if wakes else [])


@pytest.mark.parametrize(
    ("new", "wakes"),
    [
        pytest.param(quota({"pods": "9"}), True, id="spec"),
        pytest.param(None, True, id="gone"),
        pytest.param(quota(status={"hard": HARD, "used": {}}), False, id="own-report"),
    ],
)
def test_quotas_that_wake(new: ResourceQuota | None, wakes: bool) -> None:
    assert list(quota_keys(ObjectChange("resourcequotas", quota(), new))) == (["namespace/a"] if wakes else [])


@pytest.mark.parametrize(
    ("resource", "wakes"), [("services", True), ("persistentvolumeclaims", True), ("configmaps", False)]
)
def test_updates_that_wake(resource: str, wakes: bool) -> None:
    assert bool(list(object_keys(ObjectChange(resource, pod(), pod())))) is wakes
    assert list(object_keys(ObjectChange(resource, None, pod()))) == ["namespace/a"]


def test_without_quotas_nothing_wakes() -> None:
    found = controller()
    added = found.add_kind("widgets.example.com", InformerCache({}), namespaced=True)
    sources: list[Source] = [*found.sources, *added]
    assert [source.resource for source in sources if not source.only_with] == ["resourcequotas"]
    assert "events" not in [source.resource for source in sources]


def test_every_quota_of_the_namespace_is_reported_on() -> None:
    found = controller(quota(name="x"), quota(name="y"), quota(namespace="b"), used={"pods": Fraction(1)})
    patches: list[Any] = list(found.reconcile("namespace/a", 0.0).actions)
    assert [patch.name for patch in patches] == ["x", "y"]
    assert patches[0].subresource == "status"
    assert patches[0].body["status"]["used"] == {"pods": "1", "requests.cpu": "0"}


def test_resync() -> None:
    found = controller(quota(namespace="b"), quota(namespace="a"))
    assert found.start(0.0).wakes == (("resync", RESYNC_SECONDS),)
    again = found.reconcile("resync", 300.0).wakes
    assert list(again) == [("namespace/a", 300.0), ("namespace/b", 300.0), ("resync", 600.0)]
