"""Nobody hands out rights he does not have."""

from typing import Any

import pytest

from support.api import RBAC, Api, running_api

GROUP = "rbac.authorization.k8s.io"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
EVERYTHING = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
WRITES = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["get", "create", "update", "patch"]}


def role(rules: list[Any], name: str = "new", kind: str = "ClusterRole", **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "rules": rules, **more}


def binding(role_name: str, name: str = "new", kind: str = "ClusterRoleBinding") -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role_name},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "jane"}],
    }


async def as_jane(api: Api, method: str, path: str, body: Any, content_type: str = "application/json") -> Any:
    before = api.revision
    status, answer = await api.call(method, f"{RBAC}/{path}", body, user="jane", headers={"content-type": content_type})
    assert status < 300 or api.revision == before, "a refusal has no effect"
    return status, answer["message"] if status >= 400 else ""


async def test_role_with_more_than_one_has_is_refused_in_kubernetes_words() -> None:
    async with running_api() as api:
        await api.given_role("jane", "jane", [PODS, WRITES])
        wanted = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "delete", "create"]}]
        assert await as_jane(api, "POST", "clusterroles", role(wanted)) == (
            403,
            'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "jane" (groups=["system:authenticated"]) '
            "is attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "create"]}',
        )


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("POST", "clusterroles", role([PODS]), 201, id="role-of-what-one-has"),
        pytest.param("POST", "clusterroles", role([SECRETS]), 403, id="role-of-more"),
        pytest.param("PUT", "clusterroles/jane", role([PODS, WRITES, SECRETS], "jane"), 403, id="own-role-by-put"),
        pytest.param("PUT", "clusterroles/new", role([SECRETS]), 403, id="created-by-put"),
        pytest.param("PATCH", "clusterroles/jane", {"rules": [SECRETS]}, 403, id="own-role-by-patch"),
        pytest.param("PATCH", "clusterroles/jane", {"metadata": {"labels": {"a": "b"}}}, 200, id="label-on-own-role"),
        pytest.param("PATCH", "clusterroles/admin", {"metadata": {"labels": {"a": "b"}}}, 403, id="label-on-more"),
        pytest.param(
            "PATCH", "clusterroles/cluster-admin", {"metadata": {"finalizers": ["a.example/b"]}}, 200, id="finalizer"
        ),
        pytest.param(
            "POST", "clusterroles", role([], aggregationRule=EVERYTHING), 403, id="aggregation"
        ),
        pytest.param("POST", "clusterrolebindings", binding("jane"), 201, id="binding-of-what-one-has"),
        pytest.param("POST", "clusterrolebindings", binding("cluster-admin"), 403, id="binding-of-more"),
        pytest.param("POST", "clusterrolebindings", binding("nope"), 404, id="binding-of-nothing"),
        pytest.param(
            "POST", "namespaces/default/rolebindings", binding("admin", kind="RoleBinding"), 403, id="in-namespace"
        ),
        pytest.param("PUT", "clusterrolebindings/new", binding("cluster-admin"), 403, id="binding-by-put"),
    ],
)  # fmt: skip
async def test_writes_of_roles_and_bindings(method: str, path: str, body: Any, status: int) -> None:
    async with running_api() as api:
        await api.given_role("jane", "jane", [PODS, WRITES])
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        code, message = await as_jane(api, method, path, body, content_type)
        assert code == status, message


@pytest.mark.parametrize("kind", ["apply", "json-patch"])
async def test_no_kind_of_patch_is_a_way_around(kind: str) -> None:
    async with running_api() as api:
        await api.given_role("jane", "jane", [PODS, WRITES])
        if kind == "apply":
            path, content_type = "clusterroles/jane?fieldManager=x&force=true", "application/apply-patch+yaml"
            body: Any = role([SECRETS], "jane")
        else:
            path, content_type = "clusterroles/jane", "application/json-patch+json"
            body = [{"op": "replace", "path": "/rules", "value": [SECRETS]}]
        assert (await as_jane(api, "PATCH", path, body, content_type))[0] == 403


async def test_apply_that_creates_takes_the_right_to_create() -> None:
    async with running_api() as api:
        only_patch = {"apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["patch"]}
        await api.given_role("jane", "jane", [PODS, only_patch])
        path = "clusterroles/new?fieldManager=x"
        code, message = await as_jane(api, "PATCH", path, role([PODS]), "application/apply-patch+yaml")
        assert code == 403
        assert "cannot create resource" in message


async def test_escalate_and_bind_are_the_ways_to_do_it() -> None:
    async with running_api() as api:
        verbs = {"apiGroups": [GROUP], "resources": ["clusterroles"], "verbs": ["escalate", "bind"]}
        await api.given_role("jane", "jane", [WRITES, verbs])
        assert (await as_jane(api, "POST", "clusterroles", role([SECRETS])))[0] == 201
        assert (await as_jane(api, "POST", "clusterrolebindings", binding("cluster-admin")))[0] == 201


async def test_rights_in_one_namespace_are_none_in_another() -> None:
    async with running_api() as api:
        await api.given("namespaces", {"metadata": {"name": "other"}})
        await api.given_role("jane", "jane", [PODS], namespace="default")
        await api.given_role("writer", "jane", [WRITES])
        new = role([PODS], kind="Role")
        assert (await as_jane(api, "POST", "namespaces/default/roles", new))[0] == 201
        assert (await as_jane(api, "POST", "namespaces/other/roles", new))[0] == 403
