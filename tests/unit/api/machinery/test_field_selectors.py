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
        pytest.param("=,a=b,!=", (FieldTerm("a", "b", True),), id="terms-that-say-nothing"),
    ],
)
def test_grammar(text: str, expected: tuple[FieldTerm, ...]) -> None:
    assert parse_field_selector(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=b\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_no_selector(text: str, fault: str) -> None:
    with pytest.raises(FieldSelectorError) as refused:
        parse_field_selector(text)
    assert str(refused.value) == fault


def resolve(field: str, resource: str, *, more: tuple[str, ...] = ()) -> str:
    terms = (FieldTerm(field, "x", True),)
    storage = "events" if resource == "events.events.k8s.io" else resource
    (term,) = resolve_terms(
        terms,
        group_resource=resource,
        storage=storage,
        group_version="g/v1",
        kind="K",
        namespaced=resource != "nodes",
        more=more,
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
        pytest.param("spec.x", "configmaps", "is not a known field selector", id="others"),
        pytest.param("spec.x", "jobs.batch", 'field label "spec.x" not supported for Job', id="jobs"),
        pytest.param("x", "clustertrustbundles.certificates.k8s.io", "field label not supported: x", id="certificates"),
        pytest.param("x", "resourceslices.resource.k8s.io", "not supported for g/v1, Kind=K: x", id="of-a-version"),
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
