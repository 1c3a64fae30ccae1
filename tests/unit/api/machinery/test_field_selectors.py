"""Field selectors: grammar, and which kind knows which field."""

import pytest

from doorman.api.machinery.field_selectors import (
    FieldSelectorError,
    FieldTerm,
    parse_field_selector,
    path_reader,
    resolve_terms,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", (), id="empty"),
        pytest.param("a=b", (FieldTerm("a", "b", True),), id="equal"),
        pytest.param("a==b", (FieldTerm("a", "b", True),), id="double-equal"),
        pytest.param("a!=b,c=", (FieldTerm("a", "b", False), FieldTerm("c", "", True)), id="not-equal-and-empty"),
        pytest.param(r"a=b\,c\=d\\", (FieldTerm("a", "b,c=d\\", True),), id="escapes"),
    ],
)
def test_grammar(text: str, expected: tuple[FieldTerm, ...]) -> None:
    assert parse_field_selector(text) == expected


@pytest.mark.parametrize("text", ["a", "a=b=c", r"a=b\x"])
def test_no_selector(text: str) -> None:
    with pytest.raises(FieldSelectorError):
        parse_field_selector(text)


def resolve(field: str, resource: str, *, more: tuple[str, ...] = ()) -> str:
    terms = (FieldTerm(field, "x", True),)
    storage = "events" if resource == "events.events.k8s.io" else resource
    (term,) = resolve_terms(
        terms, group_resource=resource, storage=storage, kind="K", namespaced=resource != "nodes", more=more
    )
    return term.field


@pytest.mark.parametrize(
    ("field", "resource", "expected"),
    [
        pytest.param("metadata.name", "configmaps", "metadata.name", id="name-of-any-kind"),
        pytest.param("spec.nodeName", "pods", "spec.nodeName", id="pod-node"),
        pytest.param("spec.host", "pods", "spec.nodeName", id="alias"),
        pytest.param("regarding.name", "events.events.k8s.io", "involvedObject.name", id="other-face"),
    ],
)
def test_known_fields(field: str, resource: str, expected: str) -> None:
    assert resolve(field, resource) == expected


@pytest.mark.parametrize(
    ("field", "resource", "words"),
    [
        pytest.param("spec.x", "pods", "field label not supported: spec.x", id="pods"),
        pytest.param("metadata.namespace", "nodes", "field label not supported", id="cluster-scoped"),
        pytest.param("spec.x", "widgets.example.com", "is not a known field selector", id="others"),
        pytest.param("involvedObject.name", "events.events.k8s.io", "not supported", id="wrong-face"),
    ],
)
def test_unknown_fields(field: str, resource: str, words: str) -> None:
    with pytest.raises(FieldSelectorError, match=words):
        resolve(field, resource)


def test_fields_a_definition_makes_selectable() -> None:
    assert resolve("spec.size", "widgets.example.com", more=("spec.size",)) == "spec.size"
    read = path_reader("spec.size")
    assert [read(doc) for doc in ({"spec": {"size": "s"}}, {"spec": {"size": True}}, {"spec": 1}, {})] == [
        "s",
        "true",
        "",
        "",
    ]
