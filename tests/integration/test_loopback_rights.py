"""Components in process are held to the same rules as clients: none gives away more than it has."""

from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.client.actions import Create, Patch, PatchType, Update
from doorman.runtime.in_process.loopback_client import LoopbackClient
from support.api import running_api

GROUP = "rbac.authorization.k8s.io"
ROLES = f"clusterroles.{GROUP}"
ALL = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
WRITE_ROLES = {"apiGroups": [GROUP], "resources": ["clusterroles", "clusterrolebindings"], "verbs": ["*"]}


async def grant(client: LoopbackClient, how: str, made: dict[str, Any]) -> None:
    match how:
        case "create":
            await client.create(Create(resource=ROLES, body={"metadata": {"name": "more"}, "rules": [ALL]}))
        case "update":
            await client.update(Update(resource=ROLES, name="there", body={**made, "rules": [ALL]}))
        case "patch":
            await client.patch(Patch(resource=ROLES, name="there", body={"rules": [ALL]}, type=PatchType.MERGE))
        case _:
            binding = {
                "metadata": {"name": "mine"},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "plain"}],
            }
            await client.create(Create(resource=f"clusterrolebindings.{GROUP}", body=binding))


@pytest.mark.parametrize("how", ["create", "update", "patch", "bind"])
async def test_no_component_gives_away_more_than_it_has(how: str) -> None:
    async with running_api() as api:
        await api.given_role("writer", "plain", [{**WRITE_ROLES, "verbs": ["create", "update", "patch", "get"]}])
        made = await api.given(ROLES, {"metadata": {"name": "there"}, "rules": []})
        client = api.cluster.client_as("plain", "test")
        before = api.revision
        with pytest.raises(ApiError) as refused:
            await grant(client, how, made)
        assert refused.value.code == 403
        assert "attempting to grant RBAC permissions not currently held" in refused.value.message
        assert api.revision == before
