"""What admission looks up is what is newest, decoded once a version."""

from fractions import Fraction
from typing import Any

import pytest

from doorman.admission.plugin_contract import Unconvertible
from doorman.client.actions import Delete, Patch, PatchType
from support.api import running_api

MAPS = "configmaps"


def config(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"n": name}}, "data": data}


def change(name: str, **data: str) -> Patch:
    return Patch(resource=MAPS, namespace="default", name=name, body={"data": data}, type=PatchType.MERGE)


async def test_document_is_decoded_once_a_version() -> None:
    async with running_api() as api:
        cluster = api.cluster.registry.cluster
        assert cluster.get(MAPS, "default", "a") is None
        await api.given(MAPS, config("a", k="1"), namespace="default")
        first = cluster.get(MAPS, "default", "a")
        assert first is not None
        assert cluster.get(MAPS, "default", "a") is first
        await api.admin.patch(change("a", k="2"))
        second = cluster.get(MAPS, "default", "a")
        assert second is not None
        assert (first["data"], second["data"]) == ({"k": "1"}, {"k": "2"})


async def test_newest_entry_changes_with_the_object_and_ends_with_it() -> None:
    async with running_api() as api:
        cluster = api.cluster.registry.cluster
        key = cluster.key(MAPS, "default", "a")
        entries = [cluster.newest_entry(key)]
        await api.given(MAPS, config("a"), namespace="default")
        entries.append(cluster.newest_entry(key))
        await api.admin.patch(change("a", k="2"))
        entries.append(cluster.newest_entry(key))
        await api.admin.delete(Delete(resource=MAPS, namespace="default", name="a"))
        absent, made, changed = entries
        assert absent is cluster.newest_entry(key) is None
        assert made is not None
        assert changed is not None
        assert made.revision < changed.revision


async def test_labels_and_lists_follow_what_is_written() -> None:
    async with running_api() as api:
        cluster = api.cluster.registry.cluster
        assert cluster.labels(MAPS, "default", "a") is None
        await api.given(MAPS, config("a"), namespace="default")
        await api.given(MAPS, config("b"), namespace="kube-system")
        assert cluster.labels(MAPS, "default", "a") == {"n": "a"}
        listed = cluster.list(MAPS, "default")
        assert cluster.list(MAPS, "default") is listed, "while nothing changes"
        assert {doc["metadata"]["name"] for doc in listed} >= {"a"}
        assert "b" not in {doc["metadata"]["name"] for doc in listed}
        await api.given(MAPS, config("c"), namespace="default")
        assert "c" in {doc["metadata"]["name"] for doc in cluster.list(MAPS, "default")}


async def test_totals_are_of_a_namespace() -> None:
    async with running_api() as api:
        cluster = api.cluster.registry.cluster
        for name in ("a", "b"):
            await api.given(MAPS, config(name, n="2"), namespace="default")

        def weigh(doc: Any) -> dict[str, Fraction]:
            return {"n": Fraction((doc.get("data") or {}).get("n", "0"))}

        assert cluster.total(MAPS, "default", "", weigh)["n"] == 4
        assert cluster.total(MAPS, "kube-public", "", weigh).get("n", 0) == 0


async def test_kinds_are_found_by_what_a_document_says_of_itself() -> None:
    async with running_api() as api:
        cluster = api.cluster.registry.cluster
        assert cluster.find_kind("apps/v1", "Deployment") == ("deployments.apps", True)
        assert cluster.find_kind("v1", "Node") == ("nodes", False)
        assert cluster.find_kind("apps/v1", "Nothing") is None


async def test_documents_are_shown_in_the_version_that_is_asked_for() -> None:
    async with running_api() as api:
        cluster = api.cluster.registry.cluster
        (shown,) = cluster.converted("v1", "ConfigMap", [config("a", k="1")])
        assert shown["data"] == {"k": "1"}
        with pytest.raises(Unconvertible, match="no longer served"):
            cluster.converted("example.com/v1", "Widget", [config("a")])
