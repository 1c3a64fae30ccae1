"""Phases of admission as the registry calls them."""

from doorman.admission.plugin_contract import Operation
from doorman.api.identity import User
from doorman.registry.caller import Caller
from doorman.registry.write_target import WriteTarget
from support.api import Api, running_api

CALLER = Caller(user=User(name="u"), manager="m", dry_run=True)


def phases(api: Api):  # type: ignore[no-untyped-def]  # its own private part
    return api.cluster.registry.proposer._admission


async def test_attributes_name_the_request() -> None:
    async with running_api() as api:
        kind = api.cluster.kinds.named("deployments.apps")
        doc = {"metadata": {"name": "d"}}
        found = phases(api).attributes(WriteTarget(kind, "ns", ""), CALLER, Operation.CREATE, doc, None)
        assert (found.group, found.resource, found.kind, found.name) == ("apps", "deployments", "Deployment", "d")
        assert (found.dry_run, found.manager, found.obj is doc) == (True, "m", True)


async def test_subresource_has_a_kind_of_its_own() -> None:
    async with running_api() as api:
        kind = api.cluster.kinds.named("deployments.apps")
        found = phases(api).attributes(WriteTarget(kind, "ns", "d", "scale"), CALLER, Operation.UPDATE, {}, {})
        assert (found.kind, found.kind_version) == ("Scale", "autoscaling/v1")


async def test_nobody_is_asked_over_the_network_without_webhooks() -> None:
    async with running_api() as api:
        kind = api.cluster.kinds.named("pods")
        found = phases(api).attributes(
            WriteTarget(kind, "ns", ""), CALLER, Operation.CREATE, {"metadata": {"name": "p"}}, None
        )
        assert not phases(api).is_remote(found)


async def test_mutation_adds_what_plugins_add() -> None:
    async with running_api() as api:
        await api.given_account("default")
        kind = api.cluster.kinds.named("pods")
        doc = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        found = phases(api).attributes(WriteTarget(kind, "default", ""), CALLER, Operation.CREATE, doc, None)
        phases(api).mutate(found, api.clock.now())
        keys = [one["key"] for one in doc["spec"]["tolerations"]]  # type: ignore[index]  # JSON
        assert keys == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
