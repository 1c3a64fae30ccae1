"""The numbers of the plugins' contract fit together, and plugins are told apart by what they can do."""

from doorman.scheduler.framework import (
    ABSENT,
    CODE_BITS,
    FINAL,
    PASS,
    ActionType,
    FilterPlugin,
    HintPlugin,
    PodFilterPlugin,
    PreEnqueuePlugin,
    ScorePlugin,
    VolumePlugin,
)
from doorman.scheduler.plugins.node_name import NodeName
from doorman.scheduler.plugins.scheduling_gates import SchedulingGates
from doorman.scheduler.plugins.taint_toleration import TaintToleration

PLUGINS_MAX = 1 << (62 - CODE_BITS)


def test_codes_have_room_for_their_final_bit_and_verdicts_for_their_plugin() -> None:
    assert FINAL < 1 << CODE_BITS
    assert ((PLUGINS_MAX - 1) << CODE_BITS) | FINAL | (FINAL - 1) < PASS
    assert PASS < 2**63, "what a column holds"
    assert ABSENT < 0


def test_changes_are_told_apart() -> None:
    assert len({int(one) for one in ActionType}) == len(ActionType)
    assert not ActionType.ADD & ActionType.DELETE


def test_plugins_are_told_apart_by_what_they_can_do() -> None:
    assert isinstance(NodeName(), FilterPlugin)
    assert isinstance(NodeName(), HintPlugin)
    assert not isinstance(NodeName(), ScorePlugin | PreEnqueuePlugin | PodFilterPlugin)
    assert isinstance(TaintToleration(comparison_operators=True), ScorePlugin)
    assert isinstance(SchedulingGates(), PreEnqueuePlugin)
    assert not isinstance(SchedulingGates(), VolumePlugin)
