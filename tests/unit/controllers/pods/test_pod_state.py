"""Small truths about pods."""

from typing import Any

import msgspec
import pytest

from doorman.api.taints import Toleration
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.base.instants import to_time
from doorman.controllers.pods.pod_state import (
    is_active,
    is_available,
    is_ready,
    max_restarts,
    next_available,
    owner_reference,
    target_node,
    toleration_body,
)
from support.objects import pod


def view(**more: Any) -> Pod:
    return msgspec.convert(pod("p", **more), Pod)


def ready(since: float) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": to_time(since)}]}


@pytest.mark.parametrize(
    ("phase", "deleted", "expected"),
    [
        ("Pending", "", True),
        ("Running", "", True),
        ("Failed", "", False),
        ("Succeeded", "", False),
        ("Running", "x", False),
    ],
)
def test_active(phase: str, deleted: str, expected: bool) -> None:
    assert is_active(view(status={"phase": phase}, metadata={"deletionTimestamp": deleted})) is expected


def test_available_is_ready_for_long_enough() -> None:
    one = view(status=ready(100))
    assert is_ready(one)
    assert is_available(one, 0, 100.0)
    assert not is_available(one, 30, 129.0)
    assert is_available(one, 30, 130.0)
    assert not is_available(view(), 0, 1e9)


def test_next_available_is_the_soonest_to_come() -> None:
    pods = [view(status=ready(100)), view(status=ready(110)), view()]
    assert next_available(pods, 30, 135.0) == 140.0
    assert next_available(pods, 30, 140.0) is None
    assert next_available(pods, 0, 100.0) is None


def test_target_is_the_node_or_the_one_pinned_name() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    pinned = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}
        }
    }
    assert target_node(view(node_name="n1", spec={"affinity": pinned})) == "n1"
    assert target_node(view(spec={"affinity": pinned})) == "n2"
    assert target_node(view()) == ""


def test_bodies() -> None:
    assert toleration_body(Toleration(key="a", operator="Exists", toleration_seconds=0)) == {
        "key": "a", "operator": "Exists", "tolerationSeconds": 0,
    }  # fmt: skip
    reference = owner_reference("apps/v1", "DaemonSet", ObjectMeta(name="d", uid="u"))
    assert reference["controller"] is reference["blockOwnerDeletion"] is True
    statuses = [{"name": "a", "restartCount": 2}, {"name": "b", "restartCount": 5}]
    assert max_restarts(view(status={"containerStatuses": statuses})) == 5
