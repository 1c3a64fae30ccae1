"""Laws of eviction instants."""

from hypothesis import assume, given
from hypothesis import strategies as st

from doorman.api.taints import Taint, Toleration
from doorman.semantics.taints.eviction_time import At, Eviction, Never, Now, decide_eviction, min_toleration_seconds

NOW = 1000.0
KEYS = st.sampled_from(["", "a", "b"])
TAINTS = st.builds(
    Taint,
    key=KEYS,
    value=st.sampled_from(["", "v", "5"]),
    effect=st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
NO_EXECUTE = TAINTS.map(lambda taint: Taint(key=taint.key, value=taint.value, effect="NoExecute"))
SECONDS = st.none() | st.integers(min_value=-5, max_value=10_000)
TOLERATIONS = st.builds(
    Toleration,
    key=KEYS,
    operator=st.sampled_from(["", "Equal", "Exists", "Gt"]),
    value=st.sampled_from(["", "v", "4"]),
    effect=st.sampled_from(["", "NoExecute", "NoSchedule"]),
    toleration_seconds=SECONDS,
)


def leaves_at(eviction: Eviction) -> float:
    match eviction:
        case Never():
            return float("inf")
        case At(instant=instant):
            return instant
        case Now():
            return NOW


@given(st.lists(TAINTS, min_size=1), st.lists(TOLERATIONS), st.data())
def test_removing_a_taint_never_brings_eviction_forward(
    taints: list[Taint], tolerations: list[Toleration], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(taints) - 1))
    fewer = taints[:index] + taints[index + 1 :]
    assert leaves_at(decide_eviction(fewer, tolerations, NOW)) >= leaves_at(decide_eviction(taints, tolerations, NOW))


@given(st.lists(TAINTS), st.lists(TOLERATIONS, min_size=1), st.data())
def test_instant_is_monotone_in_toleration_seconds(
    taints: list[Taint], tolerations: list[Toleration], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(tolerations) - 1))
    chosen = tolerations[index]
    assume(chosen.toleration_seconds is not None)
    assert chosen.toleration_seconds is not None
    more = chosen.toleration_seconds + data.draw(st.integers(0, 1000))
    longer = Toleration(
        key=chosen.key,
        operator=chosen.operator,
        value=chosen.value,
        effect=chosen.effect,
        toleration_seconds=more,
    )
    later = [*tolerations[:index], longer, *tolerations[index + 1 :]]
    assert leaves_at(decide_eviction(taints, later, NOW)) >= leaves_at(decide_eviction(taints, tolerations, NOW))


@given(st.lists(TAINTS), st.lists(TOLERATIONS), st.data())
def test_order_of_taints_does_not_move_the_instant(
    taints: list[Taint], tolerations: list[Toleration], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(taints))
    assert leaves_at(decide_eviction(shuffled, tolerations, NOW)) == leaves_at(
        decide_eviction(taints, tolerations, NOW)
    )


@given(st.lists(NO_EXECUTE, min_size=1), st.lists(TOLERATIONS))
def test_instant_agrees_with_the_least_seconds(taints: list[Taint], tolerations: list[Toleration]) -> None:
    tolerated, seconds = min_toleration_seconds(taints, tolerations)
    expected = NOW if not tolerated else float("inf") if seconds == -1 else NOW + (seconds or 0)
    assert leaves_at(decide_eviction(taints, tolerations, NOW)) == expected


@given(st.lists(TAINTS), st.lists(TOLERATIONS))
def test_responsible_taint_is_one_of_the_node(taints: list[Taint], tolerations: list[Toleration]) -> None:
    match decide_eviction(taints, tolerations, NOW):
        case Never():
            pass
        case At(taint=taint, toleration=toleration):
            assert taint in taints
            assert taint.effect == "NoExecute"
            assert toleration in tolerations
        case Now(taint=taint, toleration=none_or_toleration):
            assert taint in taints
            assert none_or_toleration is None or none_or_toleration in tolerations
