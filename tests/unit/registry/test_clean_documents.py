"""From what was sent to a clean document."""

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.typed_decoding import RepeatedMembers
from doorman.base.errors import ApiError
from doorman.registry.clean_documents import Body, clean_object, kind_mismatch

KINDS = builtin_kinds()
SCHEMA = Schema(type_table())
PODS = KINDS.named("pods")


def cleaned(doc: dict[str, object], validation: str, warnings: list[str], *duplicates: str) -> object:
    return clean_object(SCHEMA, PODS, dict(doc), Body(doc, duplicates), validation, warnings)


def test_kind_and_version_are_taken_off() -> None:
    assert cleaned({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}, "Strict", []) == {
        "metadata": {"name": "p"}
    }


def test_empty_list_of_field_owners_is_not_one_that_was_left_out() -> None:
    assert cleaned({"metadata": {"name": "p", "managedFields": []}}, "Strict", []) == {
        "metadata": {"name": "p", "managedFields": [{}]}
    }
    assert cleaned({"metadata": {"name": "p"}}, "Strict", []) == {"metadata": {"name": "p"}}


def test_member_that_occurs_twice_is_told_beside_an_empty_list_of_field_owners() -> None:
    metadata = [("name", "p"), ("labels", {"a": "b"}), ("managedFields", []), ("labels", {"a": "b"})]
    doc = RepeatedMembers([("metadata", RepeatedMembers(metadata))])
    warnings: list[str] = []
    clean_object(SCHEMA, PODS, doc, Body(dict(doc), ("said elsewhere",), doc), "Warn", warnings)
    assert warnings == ['duplicate field "metadata.labels"']


@pytest.mark.parametrize(
    ("validation", "warned"),
    [
        pytest.param("Warn", ['duplicate field "a"', 'unknown field "b"'], id="warn"),
        pytest.param("Ignore", [], id="ignore"),
    ],
)
def test_problems_are_told_as_asked(validation: str, warned: list[str]) -> None:
    warnings: list[str] = []
    assert cleaned({"b": 1}, validation, warnings, 'duplicate field "a"') == {}
    assert warnings == warned


def test_strict_refuses_with_all_problems() -> None:
    with pytest.raises(ApiError) as refused:
        cleaned({"b": 1}, "Strict", [], 'duplicate field "a"')
    assert refused.value.message.endswith('strict decoding error: duplicate field "a", unknown field "b"')


@pytest.mark.parametrize(
    ("api_version", "name", "words"),
    [
        pytest.param("v1", "Pod", "", id="itself"),
        pytest.param("v1", "Service", "unknown conversion", id="another-kind"),
        pytest.param("nope/v1", "Pod", "no kind", id="no-such-version"),
    ],
)
def test_what_cannot_become_the_kind(api_version: str, name: str, words: str) -> None:
    found = kind_mismatch(PODS, api_version, name)
    assert words in found
    assert bool(found) is bool(words)
