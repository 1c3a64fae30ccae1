"""crd-controller: names, conditions, the end."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apiextensions import CLEANUP_FINALIZER, CustomResourceDefinition, CustomResourceNames
from doorman.api.views.meta import Object, ObjectMeta
from doorman.client.actions import Delete, Patch
from doorman.client.informer_cache import InformerCache
from doorman.controllers.cluster.crd_controller import (
    CustomResourceDefinitionController,
    decide_names,
    decide_status,
)

NOW = 1767225600.0


def definition(plural: str = "widgets", *, accepted: dict[str, Any] | None = None, **metadata: Any) -> Any:
    kind = plural.rstrip("s").title()
    names = {"plural": plural, "singular": plural.rstrip("s"), "kind": kind, "listKind": f"{kind}List"}
    return msgspec.convert(
        {
            "metadata": {"name": f"{plural}.example.com", "resourceVersion": "7", "uid": "u", **metadata},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {**names, "shortNames": [plural[0]]}},
            "status": {"acceptedNames": accepted or {}},
        },
        CustomResourceDefinition,
    )


@pytest.mark.parametrize(
    ("taken", "status", "reason", "message"),
    [
        pytest.param({}, "True", "NoConflicts", "no conflicts found", id="free"),
        pytest.param({"plural": "widgets"}, "False", "PluralConflict", '"widgets" is already in use', id="plural"),
        pytest.param({"shortNames": ["w"]}, "False", "ShortNamesConflict", '"w" is already in use', id="short-name"),
        pytest.param({"kind": "Widget"}, "False", "KindConflict", '"Widget" is already in use', id="kind"),
        pytest.param({"kind": "widgets"}, "True", "NoConflicts", "no conflicts found", id="kinds-are-apart"),
    ],
)
def test_names_are_accepted_when_free(taken: dict[str, Any], status: str, reason: str, message: str) -> None:
    other = definition("others", accepted=taken)
    _, condition = decide_names(definition(), [other])
    assert (condition.status, condition.reason, condition.message) == (status, reason, message)


def test_own_names_are_no_conflict() -> None:
    same = definition(accepted={"plural": "widgets", "kind": "Widget"})
    accepted, condition = decide_names(same, [same])
    assert condition.status == "True"
    assert accepted == same.spec.names


def test_status_is_written_once() -> None:
    patch = decide_status(definition(), [], NOW)
    assert patch is not None
    said = {one["type"]: one["status"] for one in patch.body["status"]["conditions"]}
    assert said == {"NamesAccepted": "True", "Established": "True"}
    status = {**patch.body["status"]}
    status["acceptedNames"] = {name: value for name, value in status["acceptedNames"].items() if value is not None}
    after = msgspec.convert({**msgspec.to_builtins(definition()), "status": status}, CustomResourceDefinition)
    assert after.is_established
    assert decide_status(after, [after], NOW + 60) is None


def controller(*definitions: Any, instances: tuple[Object, ...] = ()) -> CustomResourceDefinitionController:
    cache: InformerCache[CustomResourceDefinition] = InformerCache({})
    for one in definitions:
        cache.put(one.metadata.name, one)
    return CustomResourceDefinitionController(cache, lambda _name: instances)


DYING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [CLEANUP_FINALIZER, "mine/too"]}


def test_objects_go_first() -> None:
    one = Object(metadata=ObjectMeta(name="a", namespace="ns"))
    made = controller(definition(**DYING), instances=(one,))
    result = made.reconcile("names/widgets.example.com", NOW)
    assert [key for key, _ in result.wakes] == ["instance/widgets.example.com/ns/a", "names/widgets.example.com"]
    (delete,) = made.reconcile(result.wakes[0][0], NOW).actions
    assert isinstance(delete, Delete)
    assert (delete.resource, delete.namespace, delete.name) == ("widgets.example.com", "ns", "a")


def test_then_our_finalizer_goes_and_no_other() -> None:
    (patch,) = controller(definition(**DYING)).reconcile("names/widgets.example.com", NOW).actions
    assert isinstance(patch, Patch)
    assert patch.body["metadata"]["finalizers"] == ["mine/too"]


def test_names_that_come_free_wake_who_waits_for_them() -> None:
    waiting = definition("others")
    assert waiting.status.accepted_names == CustomResourceNames()
    result = controller(waiting).reconcile("names/widgets.example.com", NOW)
    assert result.wakes == [("names/others.example.com", NOW)]
