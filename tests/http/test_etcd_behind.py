"""What one Doorman of an etcd has acknowledged every other one goes by, in the very next request."""

from typing import Any

from support.server import fetch
from support.two_servers import TwoServers, asked

ROUNDS = 25
"""Each time the second server may or may not have read what the first one wrote."""
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_namespace_account_and_class_of_one_are_known_to_the_other(servers: TwoServers) -> None:
    first, second = servers
    for number in range(ROUNDS):
        here = f"/api/v1/namespaces/n{number}"
        asked(first, "POST", "/api/v1/namespaces", {"metadata": {"name": f"n{number}"}}, 201)
        asked(second, "POST", f"{here}/configmaps", {"metadata": {"name": "c"}}, 201)
        asked(first, "POST", f"{here}/serviceaccounts", {"metadata": {"name": "a"}}, 201)
        priority = {"metadata": {"name": f"p{number}"}, "value": number}
        asked(second, "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority, 201)
        spec = {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}
        asked(second, "POST", f"{here}/pods", {"metadata": {"name": "a"}, "spec": spec}, 201)
        spec["priorityClassName"] = f"p{number}"
        made = asked(first, "POST", f"{here}/pods", {"metadata": {"name": "p"}, "spec": spec}, 201)
        assert made["spec"]["priority"] == number
        asked(second, "DELETE", f"{here}/pods/p?gracePeriodSeconds=0")
        asked(first, "POST", f"{here}/pods", {"metadata": {"name": "p"}, "spec": spec}, 201)


def test_rights_that_one_gives_the_other_grants(servers: TwoServers) -> None:
    first, second = servers
    for number in range(ROUNDS):
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
        role: dict[str, Any] = {"metadata": {"name": f"r{number}"}, "rules": [rule]}
        asked(first, "POST", f"{RBAC}/clusterroles", role, 201)
        group = "rbac.authorization.k8s.io"
        binding = {
            "metadata": {"name": f"r{number}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": f"r{number}"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": f"u{number}"}],
        }
        asked(first, "POST", f"{RBAC}/clusterrolebindings", binding, 201)
        if number % 2:
            status, _, answer = fetch(second, "GET", "/api/v1/pods", headers={"Impersonate-User": f"u{number}"})
            assert status == 200, answer
        else:
            review = {"spec": {"user": f"u{number}", "resourceAttributes": {"verb": "list", "resource": "pods"}}}
            path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            assert asked(second, "POST", path, review, 201)["status"]["allowed"]


def test_refusals_are_what_they_were(servers: TwoServers) -> None:
    first, second = servers
    asked(first, "POST", "/api/v1/namespaces/none/configmaps", {"metadata": {"name": "c"}}, 404)
    asked(second, "GET", "/api/v1/namespaces/default/configmaps/none", expected=404)
    status, _, answer = fetch(second, "GET", "/api/v1/pods", headers={"Impersonate-User": "nobody"})
    assert status == 403, answer
