"""What the scheduler does when it hears of a pod."""

from support.scheduling import Desk, make_pod


def test_namesake_that_took_a_pod_s_place_unseen_is_another_pod() -> None:
    desk = Desk()
    desk.node("n")
    desk.pod("p", requests={"cpu": "3"}, node="n")
    namesake = make_pod("p", requests={"cpu": "3"}, metadata={"uid": "another"})
    desk.put_pod(namesake)
    desk.settle()
    assert desk.where("p") == "n", "the first one's room is free"


def test_pod_of_another_scheduler_is_let_be() -> None:
    desk = Desk()
    desk.node("n")
    desk.pod("p", schedulerName="somebody-else")
    assert desk.run() == []


def test_pod_that_is_leaving_is_not_taken_up_again() -> None:
    desk = Desk()
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    desk.pod("p", metadata=leaving)
    desk.settle()
    desk.change_pod("p", metadata={"labels": {"a": "b"}})
    desk.node("n")
    desk.settle()
    assert desk.where("p") == ""


def test_room_of_a_finished_pod_is_free() -> None:
    desk = Desk()
    desk.node("n", cpu="4")
    desk.pod("done", requests={"cpu": "4"}, node="n")
    desk.pod("next", requests={"cpu": "4"})
    desk.settle()
    assert desk.where("next") == ""
    desk.change_pod("done", status={"phase": "Succeeded"})
    desk.advance(20)
    assert desk.where("next") == "n"


def test_nomination_that_is_taken_back_gives_up_the_room() -> None:
    desk = Desk()
    desk.node("n", cpu="4")
    gates = [{"name": "example.com/not-yet"}]
    desk.pod("big", requests={"cpu": "3"}, priority=9, status={"nominatedNodeName": "n"}, schedulingGates=gates)
    desk.pod("small", requests={"cpu": "2"})
    desk.settle()
    assert desk.where("small") == "", "the room is kept for the one that is nominated"
    desk.change_pod("big", status={"nominatedNodeName": ""})
    desk.advance(20)
    assert desk.where("small") == "n"
