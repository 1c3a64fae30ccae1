"""The condition of a FlowSchema that says whether its priority level is there."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.access.flowcontrol import FlowSchema
from doorman.api.views.meta import Object
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.cluster.flow_schema_status import MANAGER, FlowSchemaStatusController, decide_condition

TEXT = 'This FlowSchema references the PriorityLevelConfiguration object named "low"'


def schema(*conditions: dict[str, str]) -> FlowSchema:
    spec = {"priorityLevelConfiguration": {"name": "low"}}
    body = {"metadata": {"name": "own"}, "spec": spec, "status": {"conditions": list(conditions)}}
    return msgspec.convert(body, FlowSchema)


def cache_of(*views: Any) -> InformerCache[Any]:
    cache: InformerCache[Any] = InformerCache({})
    for view in views:
        cache.put(view.metadata.name, view)
    return cache


@pytest.mark.parametrize(
    ("is_found", "status", "reason", "message"),
    [
        pytest.param(True, "False", "Found", f"{TEXT} and it exists", id="there"),
        pytest.param(False, "True", "NotFound", f"{TEXT} but there is no such object", id="missing"),
    ],
)
def test_condition(is_found: bool, status: str, reason: str, message: str) -> None:
    found = decide_condition(schema(), is_found=is_found, now=0.0)
    assert found is not None
    assert (found["type"], found["status"], found["reason"], found["message"]) == ("Dangling", status, reason, message)
    said = {name: found[name] for name in ("type", "status", "reason", "message")}
    assert decide_condition(schema(said), is_found=is_found, now=9.0) is None


def test_condition_is_applied_and_levels_wake_their_schemas() -> None:
    level = msgspec.convert({"metadata": {"name": "low"}}, Object)
    controller = FlowSchemaStatusController(cache_of(schema()), cache_of(level))
    (patch,) = controller.reconcile("own", 0.0).actions
    assert isinstance(patch, Patch)
    assert (patch.type, patch.subresource, patch.manager) == (PatchType.APPLY, "status", MANAGER)
    assert patch.body["status"]["conditions"][0]["status"] == "False"
    by_level = controller.sources[1].keys
    assert list(by_level(ObjectChange("levels", None, level))) == ["own"]
    assert list(by_level(ObjectChange("levels", level, level))) == []
