"""The roles a cluster starts with."""

import pytest

from doorman.client.actions import Patch, PatchType
from doorman.runtime.controller_registry import CONTROLLERS, account_of
from doorman.runtime.defaults.default_roles import AUTOUPDATE, default_objects, ensure_roles
from doorman.runtime.defaults.role_table import parse_rule
from support.api import Api, running_api

ROLES = "clusterroles.rbac.authorization.k8s.io"


def test_rule_that_every_recorder_needs() -> None:
    rule = parse_rule("events")
    assert (rule.verbs, rule.api_groups, rule.resources) == (
        ("create", "patch", "update"),
        ("", "events.k8s.io"),
        ("events",),
    )


def test_rule_with_names() -> None:
    assert parse_rule("get coordination.k8s.io:leases#a,b").resource_names == ("a", "b")


def test_every_binding_s_role_is_there() -> None:
    objects = list(default_objects())
    roles = {(o.namespace, o.body["metadata"]["name"]) for o in objects if "rules" in o.body}
    for each in objects:
        if "roleRef" in each.body:
            assert (each.namespace, each.body["roleRef"]["name"]) in roles, each.body["metadata"]["name"]


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_has_a_role_of_its_own(name: str) -> None:
    account = account_of(name).user.rpartition(":")[2]
    names = {o.body["metadata"]["name"] for o in default_objects() if o.resource == ROLES}
    assert f"system:controller:{account}" in names


def test_aggregated_roles_are_full_from_the_start() -> None:
    sizes = {o.body["metadata"]["name"]: len(o.body["rules"]) for o in default_objects() if o.resource == ROLES}
    assert 0 < sizes["view"] < sizes["edit"] < sizes["admin"]


async def again(api: Api) -> None:
    kinds = api.cluster.kinds
    await ensure_roles(
        api.admin, lambda resource, ns, name: api.cluster.registry.newest(kinds.named(resource), ns, name)
    )


async def test_second_start_changes_nothing() -> None:
    async with running_api() as api:
        before = api.revision
        await again(api)
        assert api.revision == before


@pytest.mark.parametrize("autoupdate", [True, False])
async def test_rights_that_were_taken_come_back_unless_told_otherwise(autoupdate: bool) -> None:
    async with running_api() as api:
        body = {"rules": [], "metadata": {"annotations": {AUTOUPDATE: str(autoupdate).lower()}}}
        await api.admin.patch(Patch(resource=ROLES, name="system:basic-user", body=body, type=PatchType.MERGE))
        await again(api)
        found = api.cluster.cache.collection(ROLES).get("system:basic-user")
        assert found is not None
        assert bool(found.view.rules) is autoupdate
