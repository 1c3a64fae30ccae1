"""TaintRecord."""

import json
from typing import Any

import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.plugins.nodes.taint_record import TaintRecorder
from doorman.base.errors import ApiError

NAME = "doorman.dev/taints"
TAINT = {"key": "a", "effect": "NoSchedule"}


def node(*taints: Any, **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": "n", "annotations": annotations}, "spec": {"taints": list(taints)}}


def test_taint_of_a_new_node_is_recorded_and_the_taint_itself_left_alone(world: Any, asked: Any) -> None:
    made = node(TAINT, other="stays")
    TaintRecorder().admit(asked(made, "nodes"), world(), 0.0)
    assert made["spec"]["taints"] == [TAINT]
    assert made["metadata"]["annotations"]["other"] == "stays"
    assert json.loads(made["metadata"]["annotations"][NAME])[0]["added"] == "1970-01-01T00:00:00Z"


def test_last_taint_takes_the_annotation_with_it(world: Any, asked: Any) -> None:
    old, new = node(TAINT, **{NAME: "[]"}), node(**{NAME: "[]"})
    TaintRecorder().admit(asked(new, "nodes", operation=Operation.UPDATE, old=old), world(), 0.0)
    assert "annotations" not in new["metadata"]


def test_nothing_changes_where_taints_and_records_do_not(world: Any, asked: Any) -> None:
    old, new = node(TAINT), node(TAINT)
    TaintRecorder().admit(asked(new, "nodes", operation=Operation.UPDATE, old=old), world(), 0.0)
    assert new == node(TAINT)


def test_bad_annotation_is_an_invalid_field(world: Any, asked: Any) -> None:
    with pytest.raises(ApiError) as refused:
        TaintRecorder().admit(asked(node(TAINT, **{NAME: "[{"}), "nodes"), world(), 0.0)
    assert refused.value.code == 422
    assert refused.value.causes[0].field == f"metadata.annotations[{NAME}]"
