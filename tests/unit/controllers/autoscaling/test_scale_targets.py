"""Workloads that can be scaled."""

from typing import Any

import pytest

from doorman.api.views.apps import Deployment, ReplicationController
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import ScaleTargetReference
from doorman.api.views.meta import to_view
from doorman.client.informer_cache import InformerCache
from doorman.controllers.autoscaling.scale_targets import TARGETS, ScaleTarget, ScaleTargets


def targets() -> ScaleTargets:
    caches: dict[str, InformerCache[Any]] = {resource: InformerCache() for resource in TARGETS.values()}
    meta = {"name": "web", "namespace": "default"}
    selector = {"matchLabels": {"app": "web"}}
    deployment = to_view({"metadata": meta, "spec": {"replicas": 3, "selector": selector}}, Deployment)
    caches["deployments.apps"].put("default/web", deployment)
    controller = to_view({"metadata": meta, "spec": {"selector": {"app": "old"}}}, ReplicationController)
    caches["replicationcontrollers"].put("default/web", controller)
    bare = to_view({"metadata": {"name": "bare", "namespace": "default"}}, Deployment)
    caches["deployments.apps"].put("default/bare", bare)
    return ScaleTargets(caches)


@pytest.mark.parametrize(
    ("version", "kind", "name", "replicas", "selector"),
    [
        pytest.param("apps/v1", "Deployment", "web", 3, "app=web", id="deployment"),
        pytest.param("v1", "ReplicationController", "web", 1, "app=old", id="labels-alone"),
        pytest.param("apps/v1", "Deployment", "bare", 1, "None", id="no-selector"),
    ],
)
def test_found(version: str, kind: str, name: str, replicas: int, selector: str) -> None:
    found = targets().find(ScaleTargetReference(api_version=version, kind=kind, name=name), "default")
    assert isinstance(found, ScaleTarget)
    assert (found.replicas, str(found.selector)) == (replicas, selector)


@pytest.mark.parametrize(
    ("version", "kind", "name", "text"),
    [
        pytest.param("apps/v1", "Deployment", "x", 'deployments.apps "x" not found', id="not-there"),
        pytest.param("apps/v1", "Wheel", "x", 'no matches for kind "Wheel" in group "apps"', id="no-such-kind"),
        pytest.param("v1", "Deployment", "web", 'no matches for kind "Deployment" in group ""', id="other-group"),
    ],
)
def test_not_found(version: str, kind: str, name: str, text: str) -> None:
    assert targets().find(ScaleTargetReference(api_version=version, kind=kind, name=name), "default") == text
