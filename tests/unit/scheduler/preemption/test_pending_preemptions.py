from doorman.scheduler.preemption.pending_preemptions import PendingPreemptions


def test_pod_waits_from_the_beginning_until_the_end() -> None:
    preempting = PendingPreemptions()
    preempting.begin("a")
    assert "a" in preempting
    preempting.last("a", "v")
    assert "a" in preempting
    preempting.end("a")
    assert "a" not in preempting
    assert preempting.seen_leaving("v") == ()


def test_last_victim_that_leaves_lets_go_of_all_who_waited_for_it() -> None:
    preempting = PendingPreemptions()
    for key, victim in (("a", "v"), ("b", "w"), ("c", "v")):
        preempting.begin(key)
        preempting.last(key, victim)
    assert preempting.seen_leaving("v") == ["a", "c"]
    assert [key in preempting for key in "abc"] == [False, True, False]
    assert preempting.seen_leaving("v") == ()


def test_victims_before_the_last_let_go_of_nobody() -> None:
    preempting = PendingPreemptions()
    preempting.begin("a")
    assert preempting.seen_leaving("v") == ()
    assert "a" in preempting


def test_beginning_again_forgets_the_last_victim_of_before() -> None:
    preempting = PendingPreemptions()
    preempting.begin("a")
    preempting.last("a", "v")
    preempting.begin("a")
    assert preempting.seen_leaving("v") == ()
    assert "a" in preempting


def test_last_victim_of_a_pod_that_no_longer_waits_is_not_remembered() -> None:
    preempting = PendingPreemptions()
    preempting.last("a", "v")
    assert preempting.seen_leaving("v") == ()
