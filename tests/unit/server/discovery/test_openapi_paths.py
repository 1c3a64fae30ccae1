"""Paths of OpenAPI, as generators of clients read them: the names are upstream's."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.server.discovery.openapi_paths import paths_of


def paths(resource: str) -> dict[str, Any]:
    kind = builtin_kinds().named(resource)
    return paths_of(kind, f"x.{kind.kind}", lambda type_name: f"y.{type_name}")


def answer(operation: dict[str, Any], code: str = "200") -> str:
    found: str = operation["responses"][code]["content"]["application/json"]["schema"]["$ref"]
    return found.rpartition("/")[2]


@pytest.mark.parametrize(
    ("resource", "path", "method", "operation", "answered"),
    [
        ("pods", "/api/v1/namespaces/{namespace}/pods", "get", "listCoreV1NamespacedPod", "x.PodList"),
        ("pods", "/api/v1/pods", "get", "listCoreV1PodForAllNamespaces", "x.PodList"),
        ("pods", "/api/v1/namespaces/{namespace}/pods", "post", "createCoreV1NamespacedPod", "x.Pod"),
        (
            "pods", "/api/v1/namespaces/{namespace}/pods", "delete", "deleteCoreV1CollectionNamespacedPod",
            "y.meta.v1.Status",
        ),
        ("pods", "/api/v1/namespaces/{namespace}/pods/{name}", "delete", "deleteCoreV1NamespacedPod", "x.Pod"),
        (
            "pods", "/api/v1/namespaces/{namespace}/pods/{name}/status", "put", "replaceCoreV1NamespacedPodStatus",
            "x.Pod",
        ),
        (
            "pods", "/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "createCoreV1NamespacedPodEviction",
            "y.policy.v1.Eviction",
        ),
        ("nodes", "/api/v1/nodes/{name}", "get", "readCoreV1Node", "x.Node"),
        ("nodes", "/api/v1/nodes/{name}", "delete", "deleteCoreV1Node", "y.meta.v1.Status"),
        (
            "deployments.apps", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", "patch",
            "patchAppsV1NamespacedDeploymentScale", "y.autoscaling.v1.Scale",
        ),
        (
            "clusterroles.rbac.authorization.k8s.io", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "post",
            "createRbacAuthorizationV1ClusterRole", "x.ClusterRole",
        ),
    ],
)  # fmt: skip
def test_operations(resource: str, path: str, method: str, operation: str, answered: str) -> None:
    found = paths(resource)[path][method]
    assert (found["operationId"], answer(found)) == (operation, answered)


def test_scale_is_of_its_own_group() -> None:
    found = paths("deployments.apps")["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["put"]
    assert found["x-kubernetes-group-version-kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert found["requestBody"]["content"]["*/*"]["schema"]["$ref"].endswith("y.autoscaling.v1.Scale")


def test_log_is_a_text_and_what_reaches_containers_is_left_out() -> None:
    found = paths("pods")
    log = found["/api/v1/namespaces/{namespace}/pods/{name}/log"]["get"]
    assert log["responses"]["200"]["content"]["application/json"]["schema"] == {"type": "string"}
    assert not any(path.endswith(("/exec", "/proxy", "/attach", "/portforward")) for path in found)


def test_parameters() -> None:
    found = paths("pods")
    assert [each["name"] for each in found["/api/v1/namespaces/{namespace}/pods/{name}"]["parameters"]] == [
        "name", "namespace", "pretty",
    ]  # fmt: skip
    everywhere = {each["name"] for each in found["/api/v1/pods"]["parameters"]}
    assert {"fieldSelector", "labelSelector", "watch", "pretty"} <= everywhere
    assert "parameters" not in found["/api/v1/pods"]["get"]
    patch = found["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert [each["name"] for each in patch["parameters"]] == ["dryRun", "fieldManager", "fieldValidation", "force"]
