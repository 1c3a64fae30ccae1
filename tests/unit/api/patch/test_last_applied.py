"""Going over from `kubectl apply` to `kubectl apply --server-side`: what was applied before is in nobody's way."""

import json
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.last_applied import applied_before, note_applied
from doorman.api.patch.managed_fields import Manager
from doorman.api.well_known import LAST_APPLIED

SCHEMA = Schema(type_table())
MAPS = builtin_kinds().named("configmaps")
KUBECTL = Manager(name="kubectl", operation="Apply", api_version="v1")


def live(applied: Any, **data: str) -> Any:
    text = applied if isinstance(applied, str) else json.dumps(applied)
    return {"metadata": {"name": "c", "annotations": {LAST_APPLIED: text}}, "data": data}


def applied(**data: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {}}, "data": data}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(live(applied(a="1", b="2"), a="1", b="2"), {"f:a": {}, "f:b": {}}, id="as-it-was-applied"),
        pytest.param(live(applied(a="1", b="2"), a="1", b="3"), {"f:a": {}}, id="changed-since"),
        pytest.param(live(applied(a="1", b="2"), a="1"), {"f:a": {}}, id="gone-since"),
        pytest.param(live(applied(a="1"), a="1", b="2"), {"f:a": {}}, id="added-since"),
        pytest.param(live({**applied(a="1"), "apiVersion": "v2"}, a="1"), None, id="another-version"),
        pytest.param(live(applied(a=1), a="1"), None, id="no-such-type"),
        pytest.param(live({**applied(a="1"), "dat": {}}, a="1"), None, id="unknown-member"),
        pytest.param(live("{", a="1"), None, id="no-json"),
        pytest.param(live("[]", a="1"), None, id="no-object"),
        pytest.param(live("", a="1"), None, id="empty"),
        pytest.param({"metadata": {"name": "c"}, "data": {"a": "1"}}, None, id="no-annotation"),
    ],
)
def test_fields_that_are_as_they_were_applied(doc: Any, expected: Any) -> None:
    found = applied_before(SCHEMA, MAPS, doc, KUBECTL)
    assert (found or {}).get("f:data") == expected


def test_other_managers_have_nothing_to_do_with_it() -> None:
    other = Manager(name="flux", operation="Apply", api_version="v1")
    doc = live(applied(a="1"), a="1")
    assert applied_before(SCHEMA, MAPS, doc, other) is None
    note_applied(MAPS, doc, {"metadata": {"name": "c"}}, other)
    assert doc == live(applied(a="1"), a="1")


def test_annotation_says_what_was_applied_last() -> None:
    doc = live(applied(a="1"), a="2")
    note_applied(MAPS, doc, {"metadata": {"name": "c"}, "data": {"a": "2"}}, KUBECTL)
    assert doc["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"c"}}\n'
    )
    bare: Any = {"metadata": {"name": "c"}}
    note_applied(MAPS, bare, {"metadata": {"name": "c"}}, KUBECTL)
    assert bare == {"metadata": {"name": "c"}}
