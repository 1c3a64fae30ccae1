"""Sums over the objects of a namespace follow what is written."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from doorman.base.clock import ManualClock
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.registry.cache.usage_totals import UsageTotals
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.store.sqlite_store import SqliteStore
from doorman.store.store_contract import Write
from support.api import running_api


class Scales:
    """Weighs config maps by a number in them, and says how often it did."""

    def __init__(self) -> None:
        self.weighed: list[str] = []

    def __call__(self, doc: dict[str, Any]) -> dict[str, Fraction]:
        self.weighed.append(doc["metadata"]["name"])
        return {"n": Fraction(doc.get("data", {}).get("n", "0"))}


def config(name: str, number: int) -> Create:
    body = {"metadata": {"name": name}, "data": {"n": str(number)}}
    return Create(resource="configmaps", namespace="default", body=body)


async def test_each_version_is_weighed_once() -> None:
    async with running_api() as api:
        registry = api.cluster.registry
        kind, histograms, scales = registry.kinds.named("configmaps"), UsageTotals(registry.reader), Scales()

        def total() -> int:
            return int(histograms.total(kind, "default", "", scales).get("n", 0))

        assert total() == 0
        await api.admin.create(config("a", 2))
        await api.admin.create(config("b", 3))
        assert total() == 5
        change = {"data": {"n": "7"}}
        await api.admin.patch(
            Patch(resource="configmaps", namespace="default", name="a", body=change, type=PatchType.MERGE)
        )
        assert total() == 10
        await api.admin.delete(Delete(resource="configmaps", namespace="default", name="b"))
        assert total() == 7
        await api.admin.create(Create(resource="configmaps", namespace="kube-system", body=config("c", 9).body))
        assert total() == 7
        assert scales.weighed == ["a", "b", "a"]


async def test_what_is_on_its_way_to_the_disk_counts_once(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    settings, clock = Settings(seed=7, nodes=0), ManualClock()
    cluster = ControlPlane(ApiServer(store, settings, clock), settings, clock)
    await cluster.prepare(port=6443, ca_certificate=b"")
    client = cluster.client_as("admin", "test", "system:masters")
    made = await client.create(config("a", 2))
    registry = cluster.registry
    kind, histograms, scales = registry.kinds.named("configmaps"), UsageTotals(registry.reader), Scales()

    def total() -> int:
        return int(histograms.total(kind, "default", "", scales).get("n", 0))

    assert total() == 2
    new = made.value.replace(b'"a"', b'"b"')
    adding = store.commit(Write("configmaps/default/b", new, 0))
    removing = store.commit(Write("configmaps/default/a", None, made.revision))
    coroutines = [adding, removing]
    for one in coroutines:
        one.send(None)  # taken, not durable
    assert [total(), total()] == [2, 2]
    assert scales.weighed == ["a", "b"]
    for one in coroutines:
        one.close()
    await client.create(config("c", 5))
    assert total() == 7
    assert scales.weighed == ["a", "b", "c"]
    await cluster.stop()
