"""What evictions leave behind."""

from typing import Any

import msgspec
import pytest

from doorman.api.taints import Taint, Toleration
from doorman.api.views.pods import Pod
from doorman.base.clock import VIRTUAL_START
from doorman.controllers.taint_eviction.eviction_messages import decide_condition_patch, detail_message
from doorman.controllers.taint_eviction.eviction_timers import PendingEviction


@pytest.mark.parametrize(
    ("conditions", "written"),
    [
        pytest.param([], True, id="new"),
        pytest.param([{"status": "True"}], False, id="there-already"),
        pytest.param([{"status": "True", "observedGeneration": 9}], False, id="generation-alone"),
        pytest.param([{"status": "False"}], True, id="status-differs"),
        pytest.param([{"status": "True", "reason": "PreemptionByScheduler"}], True, id="reason-differs"),
    ],
)
def test_condition_is_written_only_if_it_changes(conditions: list[dict[str, Any]], written: bool) -> None:
    base = {
        "type": "DisruptionTarget",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    }
    view = msgspec.convert({"status": {"conditions": [{**base, **one} for one in conditions]}}, Pod)
    body = decide_condition_patch(view, VIRTUAL_START)
    assert (body is not None) is written
    if body is not None and conditions and conditions[0]["status"] == "True":
        assert body["status"]["conditions"][0]["lastTransitionTime"] == "2025-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        pytest.param(
            PendingEviction(0.0, "n1", Taint(key="a", value="1", effect="NoExecute"), None, None),
            "Evicted from node n1 because of taint a=1:NoExecute: the pod has no toleration for it",
            id="untolerated",
        ),
        pytest.param(
            PendingEviction(
                60.0, "n1", Taint(key="a", effect="NoExecute"), Toleration(key="a", toleration_seconds=60), 0.0
            ),
            "Evicted from node n1 because of taint a:NoExecute: tolerated for 60s by "
            "toleration {key: a, tolerationSeconds: 60}, timer from 1970-01-01T00:00:00Z to 1970-01-01T00:01:00Z",
            id="timer",
        ),
        pytest.param(
            PendingEviction(
                0.0, "n1", Taint(key="a", effect="NoExecute"), Toleration(key="a", toleration_seconds=0), None
            ),
            "Evicted from node n1 because of taint a:NoExecute: tolerated for 0s by "
            "toleration {key: a, tolerationSeconds: 0}",
            id="zero-seconds",
        ),
    ],
)
def test_detail_names_taint_toleration_and_timer(pending: PendingEviction, expected: str) -> None:
    assert detail_message(pending) == expected
