"""A node refuses one pod after another."""

from doorman.nodes.pods.admission_rejections import REFUSAL_SECONDS, AdmissionRejections


def test_first_is_refused_at_once_and_others_wait_their_turn() -> None:
    refusals = AdmissionRejections()
    assert refusals.due("a", "n1", 100.0) == 100.0
    assert refusals.due("b", "n1", 100.0) == 100.0 + REFUSAL_SECONDS
    assert refusals.due("c", "n1", 100.0) == 100.0 + 2 * REFUSAL_SECONDS
    assert refusals.due("d", "n2", 100.0) == 100.0
    assert refusals.due("b", "n1", 100.05) == 100.0 + REFUSAL_SECONDS, "a turn is kept"


def test_turns_that_are_past_are_not_made_up_for() -> None:
    refusals = AdmissionRejections()
    refusals.due("a", "n1", 100.0)
    assert refusals.due("b", "n1", 200.0) == 200.0
    refusals.forget("b")
    refusals.forget_node("n1")
    assert refusals.due("b", "n1", 200.0) == 200.0
