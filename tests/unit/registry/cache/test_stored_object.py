"""Kept bytes: a document without its head, joined again with any head."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.meta import Object
from doorman.registry.cache.stored_object import Stored, Unreadable, head_of, to_kept_bytes, unstored
from doorman.store.store_contract import Entry

DECODE = msgspec.json.Decoder(Object).decode


def stored(doc: Any, revision: int = 7) -> Stored:
    return Stored(Entry("", to_kept_bytes(doc), revision, 0), "ns/a", DECODE)


@pytest.mark.parametrize(
    "doc",
    [
        pytest.param({"metadata": {"name": "a"}}, id="metadata-only"),
        pytest.param({"metadata": {"name": "a"}, "spec": {"x": [1]}, "status": {}}, id="more-members"),
        pytest.param({"metadata": {"name": 'ä"\\'}, "data": {"k": "\u2028"}}, id="strange-text"),
    ],
)
def test_what_is_kept_comes_back(doc: dict[str, Any]) -> None:
    kept = {"kind": "X", "apiVersion": "v1", **doc, "metadata": {**doc["metadata"], "resourceVersion": "1"}}
    expected = {**doc, "metadata": {"resourceVersion": "7", **doc["metadata"]}}
    found = stored(kept)
    assert found.document() == expected
    pod = msgspec.json.decode(found.json(head_of("Pod", "v1")))
    assert pod == {"kind": "Pod", "apiVersion": "v1", **expected}


def test_what_was_never_stored_has_no_revision() -> None:
    doc = {"metadata": {"name": "a"}, "spec": {"x": 1}}
    dry = unstored(to_kept_bytes(doc), "a", 0)
    assert dry.document() == doc
    assert dry.view.metadata.name == "a"
    assert unstored(to_kept_bytes(doc), "a", 3).document()["metadata"]["resourceVersion"] == "3"


def test_documents_are_fresh_and_views_are_kept() -> None:
    found = stored({"metadata": {"name": "a", "labels": {"l": "1"}}})
    assert found.document() is not found.document()
    assert found.view is found.view
    assert (found.namespace, found.name, found.labels) == ("ns", "a", {"l": "1"})


def test_the_same_content_under_a_later_revision() -> None:
    assert stored({"metadata": {"name": "a"}}).at_revision(9).document()["metadata"]["resourceVersion"] == "9"


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(b'"name":"a"},"spec":{"x":}}', id="no-value"),
        pytest.param(b'"name":"a"}', id="cut"),
        pytest.param(b'"name":"a"}} x', id="more-behind"),
        pytest.param(b'"name":"\xff"}}', id="no-text"),
    ],
)
def test_what_is_no_document_has_no_syntax(kept: bytes) -> None:
    with pytest.raises(Unreadable):
        Stored(Entry("", kept, 7, 0), "ns/a", DECODE).check_syntax()


def test_syntax_is_looked_at_whatever_the_document_says() -> None:
    odd = Stored(Entry("", b'"name":5}}', 7, 0), "ns/a", DECODE)
    odd.check_syntax()
    assert not odd.is_readable()
    assert stored({"metadata": {"name": "a"}}).is_readable()
