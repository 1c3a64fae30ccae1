"""Status of admission policies."""

from typing import Any

import msgspec
import pytest

from doorman.api.kinds import Kind, Kinds, builtin_kinds, type_table
from doorman.api.views.admissionregistration import Policy
from doorman.api.views.apiextensions import CustomResourceDefinition
from doorman.client.informer_cache import InformerCache
from doorman.controllers.cluster.policy_status import KindTypes, PolicyStatusController, decide_kinds, decide_warnings


def policy(*expressions: str, groups: Any = ("",), resources: Any = ("pods",), **status: Any) -> Policy:
    rule = {"apiGroups": list(groups), "apiVersions": ["v1"], "operations": ["*"], "resources": list(resources)}
    doc = {
        "metadata": {"name": "p", "generation": 2},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": text} for text in expressions],
        },
        "status": status,
    }
    return msgspec.convert(doc, Policy)


def definitions() -> InformerCache[CustomResourceDefinition]:
    spec: Any = {
        "replicas": {"type": "integer"},
        "when": {"type": "string", "format": "date-time"},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    doc = {"metadata": {"name": "tabs.x.io"}, "spec": {"group": "x.io", "versions": [version]}}
    found: InformerCache[CustomResourceDefinition] = InformerCache()
    found.put("tabs.x.io", msgspec.convert(doc, CustomResourceDefinition))
    return found


KINDS = KindTypes(type_table(), definitions())
TABS = Kind(
    group="x.io", version="v1", resource="tabs", singular="tab", kind="Tab", namespaced=True, is_custom=True,
    type_name="custom:tabs.x.io",
)  # fmt: skip


class Lister:
    def __init__(self, found: Policy) -> None:
        self._found = found

    def get(self, key: str) -> Policy | None:
        return self._found if key == self._found.metadata.name else None

    def list(self) -> list[Policy]:
        return [self._found]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(policy(), ["Pod"], id="one"),
        pytest.param(
            policy(groups=["", "apps"], resources=["pods", "deployments"]), ["Pod", "Deployment"], id="several"
        ),
        pytest.param(policy(groups=["*"], resources=["*"]), [], id="wildcards-name-nothing"),
    ],
)
def test_kinds(found: Policy, expected: list[str]) -> None:
    assert [kind.kind for kind in decide_kinds(found, builtin_kinds())] == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("object.spec.tolerations.all(t, t.key != '')", "", id="good"),
        pytest.param("object.spec.tolerationz.size() > 1", "undefined field 'tolerationz'", id="field"),
        pytest.param(
            "object.spec.tolerations.all(t, t.seconds > 1)", "undefined field 'seconds'", id="field-of-element"
        ),
        pytest.param("object.metadata.labels['a'] == 1", "found no matching overload for '_==_'", id="type"),
        pytest.param("object.metadata.annotations.x.y == ''", "does not support field selection", id="no-object"),
        pytest.param("oldObject == null || oldObject.spec.nodeName == ''", "", id="old"),
    ],
)
def test_warnings(expression: str, expected: str) -> None:
    found = decide_warnings(policy(expression), builtin_kinds(), KINDS.of)
    assert bool(found) is bool(expected), found
    for warning in found:
        assert warning["fieldRef"] == "spec.validations[0].expression"
        assert warning["warning"].startswith("v1, Kind=Pod: ERROR: <input>:1:")
        assert expected in warning["warning"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("object.spec.replicas > 1", "", id="good"),
        pytest.param("object.metadata.labels['a'] == 'b' && oldObject.kind == 'Tab'", "", id="metadata"),
        pytest.param("object.spec.replicas > '1'", "applied to '(int, string)'", id="type"),
        pytest.param("object.spec.when > 1", "applied to '(timestamp, int)'", id="time"),
        pytest.param("object.spec.limits['a'] == 'b'", "applied to '(int, string)'", id="value-of-a-map"),
        pytest.param("object.spec.retries < 10", "undefined field 'retries'", id="field"),
        pytest.param("object.metadata.nope == ''", "undefined field 'nope'", id="field-of-metadata"),
        pytest.param("object.spec.open.nope == ''", "undefined field 'nope'", id="field-that-is-not-in-the-schema"),
    ],
)
def test_warnings_of_custom_kinds(expression: str, expected: str) -> None:
    found = decide_warnings(policy(expression, groups=["x.io"], resources=["tabs"]), Kinds([TABS]), KINDS.of)
    assert bool(found) is bool(expected), found
    for warning in found:
        assert warning["warning"].startswith("x.io/v1, Kind=Tab: ERROR: <input>:1:")
        assert expected in warning["warning"]


def test_status_is_written_once_a_generation() -> None:
    def actions(found: Policy) -> list[Any]:
        controller = PolicyStatusController(Lister(found), builtin_kinds(), KINDS.of)  # type: ignore[arg-type]
        return list(controller.reconcile("p", 0.0).actions)

    (action,) = actions(policy("object.nope == 1"))
    assert action.subresource == "status"
    assert action.body["status"]["observedGeneration"] == 2
    assert len(action.body["status"]["typeChecking"]["expressionWarnings"]) == 1
    (action,) = actions(policy("true", observedGeneration=1))
    assert action.body["status"]["typeChecking"] == {}
    assert actions(policy("true", observedGeneration=2)) == []
