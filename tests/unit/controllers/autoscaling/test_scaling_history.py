"""What an autoscaler remembers."""

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import AutoscalerBehavior, ScalingPolicy, ScalingRules
from doorman.controllers.autoscaling.scaling_history import ScalingHistory
from doorman.controllers.autoscaling.scaling_limits import Bounds

BOUNDS = Bounds(min_replicas=1, max_replicas=100)
SLOW = ScalingRules(stabilization_window_seconds=0, policies=(ScalingPolicy(type="Pods", value=2, period_seconds=60),))
BEHAVIOR = AutoscalerBehavior(scale_up=SLOW, scale_down=SLOW)


def test_present_size_counts_as_recommended_for_five_minutes() -> None:
    history = ScalingHistory()
    history.begin("k", 9, 0.0)
    assert history.limit("k", None, 9, 3, BOUNDS, 299.0)[0].replicas == 9
    history.begin("k", 2, 300.5)
    assert history.limit("k", None, 9, 3, BOUNDS, 300.5)[0].replicas == 3


def test_changes_count_against_the_rate_until_they_are_taken_back() -> None:
    history = ScalingHistory()
    history.begin("k", 4, 0.0)
    assert history.limit("k", BEHAVIOR, 4, 9, BOUNDS, 0.0)[1].replicas == 6
    history.changed("k", 4, 6, "because", 0.0)
    assert history.limit("k", BEHAVIOR, 6, 9, BOUNDS, 15.0)[1].replicas == 6
    assert history.take_back("k") == (6, "because")
    assert history.take_back("k") is None
    assert history.limit("k", BEHAVIOR, 4, 9, BOUNDS, 15.0)[1].replicas == 6


def test_change_that_was_made_is_not_taken_back_later() -> None:
    history = ScalingHistory()
    history.begin("k", 4, 0.0)
    history.changed("k", 4, 6, "because", 0.0)
    history.begin("k", 6, 15.0)
    assert history.take_back("k") is None


def test_forgotten_autoscaler_begins_anew() -> None:
    history = ScalingHistory()
    history.begin("k", 9, 0.0)
    history.forget("k")
    history.begin("k", 2, 1.0)
    assert history.limit("k", None, 2, 1, BOUNDS, 1.0)[0].replicas == 2


def test_memory_is_bounded() -> None:
    history = ScalingHistory()
    history.begin("k", 1, 0.0)
    for number in range(2000):
        history.limit("k", None, 1, 1, BOUNDS, number * 15.0)
        history.changed("k", 1, 2, "", number * 15.0)
    assert len(history._recommendations["k"]) <= 242
    assert len(history._changes["k"][0]) <= 242
