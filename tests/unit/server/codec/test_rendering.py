"""The same objects in every form an answer can have."""

import json
from typing import Any

import msgspec
import pytest
import yaml

from doorman.api.kinds import builtin_kinds
from doorman.api.views.meta import Object
from doorman.base.errors import ApiError
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.server.codec.list_bodies import PIECE_BYTES, ListPage
from doorman.server.codec.negotiation import Accepted
from doorman.server.codec.rendering import Renderer
from doorman.server.request import Response
from doorman.store.store_contract import Entry

MAPS = builtin_kinds().named("configmaps")
EVENTS = next(row for row in builtin_kinds().rows if row.conversion == "events.events.k8s.io/v1")


def stored(name: str = "a", revision: int = 7, **members: Any) -> Stored:
    doc = {"metadata": {"name": name, "namespace": "ns"}, **members}
    return Stored(Entry("", to_kept_bytes(doc), revision, 0), f"ns/{name}", msgspec.json.Decoder(Object).decode)


def renderer(include: str = "", *, pretty: bool = False, **accepted: Any) -> Renderer:
    return Renderer(Accepted(**accepted), pretty=pretty, include_object=include, now=1767225600.0)


def parsed(response: Response) -> Any:
    return json.loads(response.body if response.chunks is None else b"".join(response.chunks))


def page(*items: Stored) -> ListPage:
    return ListPage(items=list(items), revision=9)


def test_object_and_list() -> None:
    one = parsed(renderer().one(MAPS, stored(data={"k": "v"})))
    head = {"kind": "ConfigMap", "apiVersion": "v1"}
    metadata = {"resourceVersion": "7", "name": "a", "namespace": "ns"}
    assert one == {**head, "metadata": metadata, "data": {"k": "v"}}
    many = parsed(renderer().page(MAPS, page(stored())))
    assert many == {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"},
                    "items": [{"metadata": metadata}]}  # fmt: skip


def test_empty_list_has_items() -> None:
    assert parsed(renderer().page(MAPS, page()))["items"] == []


def test_long_list_comes_in_pieces() -> None:
    items = [stored(f"a{number}", data={"k": "x" * 1000}) for number in range(3 * PIECE_BYTES // 1000)]
    answer = renderer().page(MAPS, page(*items))
    chunks = list(answer.chunks or ())
    assert len(chunks) > 3
    assert sum(map(len, chunks)) == answer.length
    assert max(map(len, chunks)) < 2 * PIECE_BYTES
    assert len(json.loads(b"".join(chunks))["items"]) == len(items)


def test_yaml_and_indented_json_say_the_same() -> None:
    plain = parsed(renderer().one(MAPS, stored()))
    answer = renderer(media_type="application/yaml").one(MAPS, stored())
    assert (answer.content_type, yaml.safe_load(answer.body)) == ("application/yaml", plain)
    indented = renderer(pretty=True).one(MAPS, stored()).body
    assert (json.loads(indented), indented.count(b"\n") > 3) == (plain, True)


def test_metadata_only() -> None:
    one = parsed(renderer(conversion="PartialObjectMetadata").one(MAPS, stored(data={"k": "v"})))
    assert (one["kind"], one["apiVersion"], "data" in one) == ("PartialObjectMetadata", "meta.k8s.io/v1", False)
    many = parsed(renderer(conversion="PartialObjectMetadataList").page(MAPS, page(stored())))
    assert many["items"][0]["kind"] == "PartialObjectMetadata", "items of this list say what they are"


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        pytest.param("", "PartialObjectMetadata", id="metadata"),
        pytest.param("Object", "ConfigMap", id="whole"),
        pytest.param("None", None, id="nothing"),
    ],
)
def test_table_rows_carry_what_was_asked_for(include: str, shown: str | None) -> None:
    table = parsed(renderer(include, conversion="Table").page(MAPS, page(stored(data={"k": "v"}))))
    (row,) = table["rows"]
    assert row["cells"][:2] == ["a", 1]
    assert (row["object"] or {}).get("kind") == shown


def test_rows_of_flow_schemas_are_in_the_order_in_which_they_are_asked() -> None:
    schemas = builtin_kinds().named("flowschemas.flowcontrol.apiserver.k8s.io")
    items = [stored(name, spec={"matchingPrecedence": rank}) for name, rank in (("a", 900), ("b", 5), ("c", 900))]
    shown = parsed(renderer(conversion="Table").page(schemas, page(*items)))
    assert [row["cells"][0] for row in shown["rows"]] == ["b", "a", "c"]
    listed = parsed(renderer().page(schemas, page(*items)))
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b", "c"]


def test_only_the_first_event_of_a_watch_has_columns() -> None:
    watch = renderer(conversion="Table", conversion_version="v1")
    first, second = (json.loads(watch.event(MAPS, "ADDED", stored())) for _ in range(2))
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert second["object"]["columnDefinitions"] is None


def test_event_is_one_line() -> None:
    line = renderer().event(MAPS, "MODIFIED", stored(data={"k": "two\nlines"}))
    assert (line.count(b"\n"), line.endswith(b"\n")) == (1, True)
    assert json.loads(line)["object"]["kind"] == "ConfigMap"


def test_bookmark_marks_the_end_of_the_beginning() -> None:
    line = json.loads(renderer().bookmark(MAPS, 12, ends_initial_events=True))
    assert line["type"] == "BOOKMARK"
    assert line["object"]["metadata"] == {
        "resourceVersion": "12",
        "creationTimestamp": None,
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


def test_other_face_of_an_event_in_every_form() -> None:
    event = stored(message="hi", involvedObject={"kind": "Node", "name": "n"})
    assert parsed(renderer().one(EVENTS, event))["note"] == "hi"
    assert parsed(renderer().page(EVENTS, page(event)))["items"][0]["regarding"]["name"] == "n"
    assert json.loads(renderer().event(EVENTS, "ADDED", event))["object"]["apiVersion"] == "events.k8s.io/v1"


def test_forms_that_do_not_fit() -> None:
    with pytest.raises(ApiError, match="is not a list"):
        renderer(conversion="PartialObjectMetadataList").one(MAPS, stored())
    with pytest.raises(ApiError, match="is a list"):
        renderer(conversion="PartialObjectMetadata").page(MAPS, page())


@pytest.mark.parametrize("media", ["application/json", "application/yaml"])
def test_custom_objects_in_a_list_say_what_they_are(media: str) -> None:
    custom = msgspec.structs.replace(MAPS, kind="Widget", group="a.b", version="v1", is_custom=True)
    answer = renderer(media_type=media).page(custom, page(stored(), stored("b", 12)))
    found = yaml.safe_load(answer.body if answer.chunks is None else b"".join(answer.chunks))
    assert [(item["kind"], item["apiVersion"]) for item in found["items"]] == [("Widget", "a.b/v1")] * 2
    if answer.chunks is not None:
        assert sum(map(len, answer.chunks)) == answer.length


def test_forms_of_custom_objects_that_do_not_fit() -> None:
    custom = msgspec.structs.replace(MAPS, kind="Widget", group="a.b", version="v1", is_custom=True)
    with pytest.raises(ApiError, match=r"is a list \(\*unstructured.UnstructuredList\)"):
        renderer(conversion="PartialObjectMetadata").page(custom, page())
    with pytest.raises(ApiError, match="content is not a list") as caught:
        renderer(conversion="PartialObjectMetadataList").one(custom, stored())
    assert caught.value.code == 500


def test_generation_of_a_template_is_no_annotation_where_metadata_is_shown_alone() -> None:
    sets = builtin_kinds().named("daemonsets.apps")
    name = "deprecated.daemonset.template.generation"
    for others in ({}, {"a": "b"}):
        doc = {"metadata": {"name": "a", "namespace": "ns", "annotations": {name: "1", **others}}}
        one = Stored(Entry("", to_kept_bytes(doc), 7, 0), "ns/a", msgspec.json.Decoder(Object).decode)
        assert parsed(renderer().one(sets, one))["metadata"]["annotations"][name] == "1"
        alone = parsed(renderer(conversion="PartialObjectMetadata").one(sets, one))["metadata"]
        assert alone.get("annotations", {}) == others
