"""Nominations and the sums they keep free."""

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.resource_ids import CPU_INDEX, ResourceIds
from doorman.scheduler.queue.nominator import OVERLAYS_MAX, Nominator
from support.scheduling import make_node, make_pod


class Yard:
    def __init__(self) -> None:
        resources = ResourceIds()
        self.cluster = ClusterState(resources)
        self.shapes = self.cluster.shapes
        for name in ("n0", "n1"):
            self.cluster.set_node(make_node(name))
        self.nominator = Nominator(self.cluster)

    def nominate(self, name: str, node: str, priority: int) -> PodRecord:
        pod = make_pod(name, priority=priority, requests={"cpu": "1"})
        record = PodRecord(name, pod, self.shapes.take(pod), node, assumed=True)
        self.nominator.nominate(record)
        return record

    def cpu(self, priority_min: int) -> dict[int, int]:
        overlay = self.nominator.overlay(priority_min)
        amounts = overlay.amounts().get(CPU_INDEX)
        return {} if amounts is None else dict(zip(overlay.rows().tolist(), amounts.tolist(), strict=True))


def test_overlay_sums_pods_of_at_least_a_priority_and_follows_changes() -> None:
    yard = Yard()
    assert yard.cpu(5) == {}
    yard.nominate("a", "n0", 5)
    yard.nominate("b", "n0", 9)
    yard.nominate("c", "n1", 1)
    assert (yard.cpu(5), yard.cpu(9), yard.cpu(0)) == ({0: 2000}, {0: 1000}, {0: 2000, 1: 1000})
    yard.nominator.remove("a")
    assert (yard.cpu(5), yard.cpu(0)) == ({0: 1000}, {0: 1000, 1: 1000})
    yard.nominate("b", "n1", 9)
    assert yard.cpu(5) == {1: 1000}
    assert yard.nominator.node_of("b") == "n1"


def test_overlay_follows_nodes_that_come_and_go() -> None:
    yard = Yard()
    yard.nominate("a", "n1", 5)
    yard.nominate("b", "later", 5)
    assert yard.cpu(0) == {1: 1000}
    yard.cluster.remove_node("n1")
    assert yard.cpu(0) == {}
    yard.cluster.set_node(make_node("later"))
    assert yard.cpu(0) == {1: 1000}
    yard.nominator.remove("b")
    assert yard.cpu(0) == {}


def test_same_claim_made_again_is_kept_as_the_latest_and_changes_nothing() -> None:
    yard = Yard()
    for name in ("a", "b"):
        yard.nominate(name, "n1", 5)
    version, end = yard.nominator.version, yard.nominator.log.end
    again = yard.nominate("a", "n1", 5)
    assert (yard.nominator.version, yard.nominator.log.end) == (version, end)
    assert yard.nominator.on_node("n1", priority_min=0, but="b") == [again]
    assert [pod.metadata.name for pod in yard.nominator.lower_on_node("n1", 9)] == ["b", "a"]
    yard.nominate("a", "n0", 5)
    assert yard.cpu(0) == {0: 1000, 1: 1000}


def test_others_on_a_node_leave_out_the_pod_itself_and_lower_ones() -> None:
    yard = Yard()
    for name, priority in (("low", 1), ("same", 5), ("high", 9)):
        yard.nominate(name, "n0", priority)
    found = yard.nominator.on_node("n0", priority_min=5, but="same")
    assert [record.key for record in found] == ["high"]
    assert [pod.metadata.name for pod in yard.nominator.lower_on_node("n0", 5)] == ["low"]


def test_many_priorities_taking_turns_stay_right() -> None:
    yard = Yard()
    for priority in range(3 * OVERLAYS_MAX):
        yard.nominate(f"p{priority}", "n0", priority)
        assert yard.cpu(priority) == {0: 1000}
    assert yard.cpu(0) == {0: 3 * OVERLAYS_MAX * 1000}
