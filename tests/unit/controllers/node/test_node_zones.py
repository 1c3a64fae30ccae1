"""Zones: states, rates, limiters, queues."""

import pytest

from doorman.controllers.node.node_zones import (
    Disruption,
    Rates,
    TokenBucket,
    Zone,
    ZoneCount,
    Zones,
    ZoneState,
    decide_rate,
    decide_state,
    report_zone,
    zone_name,
    zone_of,
)

OLD, NEW = "failure-domain.beta.kubernetes.io/", "topology.kubernetes.io/"


@pytest.mark.parametrize(
    ("labels", "zone", "name"),
    [
        pytest.param({}, "", "none", id="none"),
        pytest.param({NEW + "zone": "a", NEW + "region": "r"}, "r:\0:a", "r.a", id="zone-and-region"),
        pytest.param({NEW + "zone": "a"}, ":\0:a", "a", id="zone-alone"),
        pytest.param({OLD + "zone": "b", NEW + "zone": "a"}, ":\0:b", "b", id="old-label-takes-precedence"),
        pytest.param({OLD + "region": "q", NEW + "zone": "a"}, "q:\0:a", "q.a", id="labels-mixed"),
    ],
)
def test_zone_of_labels(labels: dict[str, str], zone: str, name: str) -> None:
    assert zone_of(labels) == zone
    assert zone_name(zone) == name


@pytest.mark.parametrize(
    ("ready", "not_ready", "state"),
    [
        pytest.param(2, 1, ZoneState.NORMAL, id="3-one-of-three-down"),
        pytest.param(1, 3, ZoneState.PARTIAL_DISRUPTION, id="2-three-of-four-down"),
        pytest.param(2, 2, ZoneState.NORMAL, id="2-two-is-not-more-than-two"),
        pytest.param(45, 55, ZoneState.PARTIAL_DISRUPTION, id="2-at-the-threshold"),
        pytest.param(46, 54, ZoneState.NORMAL, id="2-below-the-threshold"),
        pytest.param(0, 1, ZoneState.FULL_DISRUPTION, id="1-one-node-zone-down"),
        pytest.param(0, 100, ZoneState.FULL_DISRUPTION, id="1-all-down"),
        pytest.param(3, 0, ZoneState.NORMAL, id="3-all-well"),
    ],
)
def test_state(ready: int, not_ready: int, state: ZoneState) -> None:
    assert decide_state(ZoneCount(ready=ready, not_ready=not_ready), 0.55) is state


@pytest.mark.parametrize(
    ("state", "size", "rate"),
    [
        pytest.param(ZoneState.NORMAL, 10, 0.1, id="4-normal"),
        pytest.param(ZoneState.FULL_DISRUPTION, 10, 0.1, id="4-full"),
        pytest.param(ZoneState.PARTIAL_DISRUPTION, 51, 0.01, id="4-partial-large"),
        pytest.param(ZoneState.PARTIAL_DISRUPTION, 50, 0.0, id="4-partial-small"),
    ],
)
def test_rate(state: ZoneState, size: int, rate: float) -> None:
    assert decide_rate(state, size, Rates()) == rate


def test_bucket_gives_one_token_at_once_then_one_a_period() -> None:
    bucket = TokenBucket(0.1, 0.0)
    assert [bucket.take(at) for at in (0.0, 5.0, 9.9, 10.0, 35.0, 40.0, 45.0)] == [
        True, False, False, True, True, False, True,
    ]  # fmt: skip


def test_stopped_bucket_gives_none() -> None:
    assert not TokenBucket(0.0, 0.0).take(1e9)
    assert TokenBucket(0.0, 0.0).next_token is None


@pytest.mark.parametrize(
    ("rate", "took", "new_rate", "first_token"),
    [
        pytest.param(0.1, False, 0.01, 50.0, id="5-token-was-there"),
        pytest.param(0.1, True, 0.01, 150.0, id="5-token-was-gone"),
        pytest.param(0.0, False, 0.1, 60.0, id="5-stopped-starts-empty"),
        pytest.param(0.0, False, 1.0, None, id="5-stopped-passes-for-rate-one"),
    ],
)
def test_changed_rate_makes_a_new_bucket(rate: float, took: bool, new_rate: float, first_token: float | None) -> None:
    bucket = TokenBucket(rate, 0.0)
    if took:
        bucket.take(50.0)
    assert bucket.replaced(new_rate, 50.0).next_token == first_token


def test_same_rate_keeps_the_bucket() -> None:
    bucket = TokenBucket(0.1, 0.0)
    assert bucket.replaced(0.1, 50.0) is bucket


def test_waiting_node_is_put_at_the_end_again_and_tainted_one_stays_out() -> None:
    zone = Zone(0.1, 0.0)
    zone.put("a", 0.0, is_tainted=False)
    zone.put("b", 0.0, is_tainted=False)
    assert zone.head() == ("a", 0.0)
    zone.put("a", 5.0, is_tainted=False)
    assert zone.waiting == ["b", "a"]
    zone.done("b")
    zone.put("b", 10.0, is_tainted=True)
    assert zone.waiting == ["a"]
    zone.remove("b")
    zone.put("b", 15.0, is_tainted=True)
    assert zone.waiting == ["a", "b"]
    zone.put_off("a", 20.0)
    assert zone.head() == ("b", 15.0)


def evaluate(zones: Zones, now: float, **counts: tuple[int, int]) -> Disruption:
    return zones.evaluate({z: ZoneCount(ready=r, not_ready=n) for z, (r, n) in counts.items()}, now)


def test_all_zones_down_halts_everything_until_one_is_well_again() -> None:
    zones = Zones(Rates())
    assert evaluate(zones, 0.0, a=(2, 0), b=(2, 0)) is Disruption.NONE
    assert evaluate(zones, 5.0, a=(0, 2), b=(2, 0)) is Disruption.NONE
    assert evaluate(zones, 10.0, a=(0, 2), b=(0, 2)) is Disruption.ENTERED
    assert {zone.limiter.rate for _, zone in zones.items()} == {0.0}
    assert evaluate(zones, 15.0, a=(0, 2), b=(0, 2)) is Disruption.NONE
    assert evaluate(zones, 20.0, a=(0, 2), b=(1, 1)) is Disruption.LEFT
    assert {zone.limiter.rate for _, zone in zones.items()} == {0.1}
    assert evaluate(zones, 25.0, a=(0, 2), b=(2, 0)) is Disruption.NONE


def test_start_with_all_nodes_down_goes_straight_to_the_halt() -> None:
    assert evaluate(Zones(Rates()), 0.0, a=(0, 1)) is Disruption.ENTERED


def test_zone_without_counted_nodes_is_forgotten() -> None:
    zones = Zones(Rates())
    evaluate(zones, 0.0, a=(0, 1), b=(2, 0))
    evaluate(zones, 5.0, b=(2, 0))
    found = zones.get("a")
    assert found is not None
    assert found.state is None
    assert found.count.size == 0
    assert evaluate(zones, 10.0) is Disruption.NONE


def test_forgotten_zone_that_comes_back_begins_with_a_token_and_an_empty_queue() -> None:
    zones = Zones(Rates())
    evaluate(zones, 0.0, a=(0, 1))
    found = zones.get("a")
    assert found is not None
    found.put("n1", 0.0, is_tainted=False)
    assert not found.limiter.take(1.0)
    evaluate(zones, 5.0)
    assert zones.ensure("a", 10.0)
    evaluate(zones, 10.0, a=(2, 1))
    found = zones.get("a")
    assert found is not None
    assert found.waiting == []
    assert found.limiter.take(10.0)


def test_report_says_why_evictions_are_halted() -> None:
    zones = Zones(Rates())
    evaluate(zones, 0.0, a=(1, 3), b=(2, 0))
    found = zones.get("a")
    assert found is not None
    assert report_zone("r:\0:a", found).halted_because == "3 of 4 nodes are not ready and the zone is small"
    evaluate(zones, 5.0, a=(0, 4), b=(0, 2))
    assert report_zone("r:\0:a", found).halted_because.startswith("every node of every zone is not ready")
    evaluate(zones, 10.0, a=(4, 0), b=(2, 0))
    report = report_zone("r:\0:a", found)
    assert (report.zone, report.state, report.halted_because) == ("r.a", "Normal", "")
