"""Reading manifests, dumps and snapshots."""

import gzip
import json

import pytest

from doorman.lint.lint_documents import Unlintable, read_documents
from doorman.snapshot.snapshot_format import snapshot_of, to_lines

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": []}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def titles(content: bytes) -> list[str]:
    return [one.title for one in read_documents(content, "file")]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD, NODE]}).encode(), id="list"),
        pytest.param(f"{json.dumps(POD)}\n---\n{json.dumps(NODE)}".encode(), id="documents"),
        pytest.param(b"\n".join(to_lines(snapshot_of([POD, NODE], 0.0))), id="snapshot"),
        pytest.param(f"{json.dumps(POD)}\n{json.dumps(NODE)}\n".encode(), id="lines"),
        pytest.param(gzip.compress(f"{json.dumps(POD)}\n{json.dumps(NODE)}\n".encode()), id="gzip"),
    ],
)
def test_objects_are_found(content: bytes) -> None:
    assert sorted(titles(content)) == ["Node n", "Pod shop/web"]


def test_items_of_a_typed_list_get_its_kind() -> None:
    item = {"metadata": {"name": "n"}}
    assert titles(json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [item, 5]}).encode()) == ["Node n"]


@pytest.mark.parametrize("content", [b"", b"a: b\n", b"- 1\n", b"kind: Pod\n", b"--- 5\n---\n...\n"])
def test_what_is_of_no_api_is_passed_over(content: bytes) -> None:
    assert titles(content) == []


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"a: [", "is it YAML or JSON?"),
        (b"a: {{ .Values.x }}\nb: [", "helm template"),
        (b"\xff\xfe", "want YAML"),
        (b"\x1f\x8bno gzip", "want YAML"),
        (b'{"kind": "Snapshot", "apiVersion": "doorman.dev/v1alpha1", "version": 9}\n{}', "save it again"),
    ],
)
def test_what_cannot_be_read_is_told(content: bytes, hint: str) -> None:
    with pytest.raises(Unlintable) as refused:
        read_documents(content, "some/file.yaml")
    assert "some/file.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("word", "value"), [("=", "="), ("yes", True), ("n", False), ("2026-01-01", "2026-01-01"), ("'5'", "5"), ("5", 5)]
)
def test_words_mean_what_they_mean_to_the_server(word: str, value: object) -> None:
    (found,) = read_documents(f"apiVersion: v1\nkind: Pod\nspec: {{a: {word}}}\n".encode(), "file")
    assert found.value["spec"]["a"] == value
