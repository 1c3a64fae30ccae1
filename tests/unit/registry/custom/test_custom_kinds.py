"""Custom kinds over the API in process: served when established, changed at once, gone with their definition."""

from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.registry.custom.custom_kinds import kind_of
from support.cluster import Story, run_story
from support.widgets import widget, widget_definition

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
WIDGETS = "widgets.example.com"


async def define(story: Story, **spec: Any) -> None:
    await story.client.create(Create(resource=DEFINITIONS, body=widget_definition(**spec)))
    await story.settle()


def test_kind_is_served_from_its_establishment_to_its_end() -> None:
    async def story(cluster: Story) -> None:
        kinds = cluster.cluster.kinds
        assert kinds.find(WIDGETS) is None
        await define(cluster)
        kind = kinds.named(WIDGETS)
        assert (kind.group_version, kind.kind, kind.has_status) == ("example.com/v1", "Widget", True)
        made = await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=widget("a")))
        assert made.document()["spec"] == {"size": "small", "replicas": 1}
        await cluster.client.delete(Delete(resource=DEFINITIONS, name=WIDGETS))
        await cluster.advance(5)
        assert kinds.find(WIDGETS) is None
        assert not cluster.cluster.cache.collection(WIDGETS).objects
        await define(cluster)
        assert kinds.find(WIDGETS) is not None, "and it may come back"

    run_story(story, nodes=0)


def test_changed_schema_holds_at_once() -> None:
    async def story(cluster: Story) -> None:
        await define(cluster)
        versions = widget_definition()["spec"]["versions"]
        versions[0]["schema"] = {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {}}}}
        }
        body = {"spec": {"versions": versions}}
        await cluster.client.patch(Patch(resource=DEFINITIONS, name=WIDGETS, body=body, type=PatchType.MERGE))
        made = await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=widget("a")))
        assert made.document()["spec"] == {}

    run_story(story, nodes=0)


def test_owner_takes_custom_objects_along() -> None:
    async def story(cluster: Story) -> None:
        await define(cluster)
        owner = await cluster.client.create(
            Create(resource="configmaps", namespace="default", body={"metadata": {"name": "owner"}})
        )
        uid = owner.document()["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        body = widget("a")
        body["metadata"]["ownerReferences"] = [reference]
        await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=body))
        await cluster.client.delete(Delete(resource="configmaps", namespace="default", name="owner"))
        await cluster.advance(5)
        assert not cluster.cluster.cache.collection(WIDGETS).objects

    run_story(story, nodes=0)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param({}, "", id="current"),
        pytest.param({"deprecated": True}, "example.com/v1 Widget is deprecated", id="deprecated"),
        pytest.param({"deprecated": True, "deprecationWarning": "use v2"}, "use v2", id="own-words"),
    ],
)
def test_deprecated_versions_say_so(version: dict[str, Any], expected: str) -> None:
    doc = widget_definition()
    assert kind_of(doc, {**doc["spec"]["versions"][0], **version}, "t").deprecation == expected


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        pytest.param(1, True, b'"n":true', id="a boolean for a number"),
        pytest.param(False, 0, b'"n":0', id="a number for a boolean"),
        pytest.param(1, 1.0, b'"n":1}', id="a number in another form"),
        pytest.param(1, 1e25, b'"n":1e+25', id="a number with an exponent"),
    ],
)
def test_value_that_becomes_one_of_another_type_is_changed(before: Any, after: Any, written: bytes) -> None:
    """Python takes 1, 1.0 and True for the same."""

    async def story(cluster: Story) -> None:
        await define(cluster)
        body = widget("a", extra={"n": before})
        await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=body))
        patch = Patch(
            resource=WIDGETS,
            namespace="default",
            name="a",
            body={"spec": {"extra": {"n": after}}},
            type=PatchType.MERGE,
        )
        changed = await cluster.client.patch(patch)
        assert written in changed.value
        assert changed.document()["metadata"]["generation"] == 2

    run_story(story, nodes=0)


def test_value_of_the_wrong_type_is_refused_in_the_place_of_one_that_is_equal_in_python() -> None:
    async def story(cluster: Story) -> None:
        await define(cluster)
        body = widget("a", ports=[{"name": "a", "port": 1}])
        await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=body))
        ports = {"spec": {"ports": [{"name": "a", "port": True}]}}
        patch = Patch(resource=WIDGETS, namespace="default", name="a", body=ports, type=PatchType.MERGE)
        with pytest.raises(ApiError, match="must be of type integer"):
            await cluster.client.patch(patch)

    run_story(story, nodes=0)


def test_faults_of_metadata_are_told_as_often_as_upstream_looks() -> None:
    async def story(cluster: Story) -> None:
        await define(cluster)
        await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=widget("a")))
        labels = {"metadata": {"labels": {"a": "-", "b": "-"}}}
        patch = Patch(resource=WIDGETS, namespace="default", name="a", body=labels, type=PatchType.MERGE)
        with pytest.raises(ApiError) as refused:
            await cluster.client.patch(patch)
        assert [cause.field for cause in refused.value.causes] == ["metadata.labels"] * 5

    run_story(story, nodes=0)
