"""Kept evaluations stay equal to fresh ones, whatever happens to the cluster between looks."""

import numpy as np
import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from doorman.scheduler.config.scheduler_config import PluginArgs, Profile
from doorman.scheduler.cycle.evaluation import Evaluation
from doorman.scheduler.cycle.profile_plugins import ProfilePlugins
from doorman.scheduler.cycle.row_scores import RowScores, shared_key
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.framework import PASS
from doorman.scheduler.plugin_registry import PluginContext, make_plugins
from doorman.scheduler.volumes.volume_state import VolumeState
from support.scheduling import make_node, make_pod


class Bench:
    def __init__(self) -> None:
        resources = ResourceIds()
        self.cluster = ClusterState(resources)
        self.shapes = self.cluster.shapes
        context = PluginContext(
            args=PluginArgs(), comparison_operators=True, relations=self.cluster.relations,
            workloads=WorkloadSelectors(), preempting=set(), cluster=self.cluster, devices=DeviceState(self.cluster),
            volumes=VolumeState(),
        )  # fmt: skip
        self.plugins = ProfilePlugins(Profile(), make_plugins(context))
        self.placed = 0

    def shape(self) -> Shape:
        return self.shapes.take(make_pod("p", requests={"cpu": "1"}))

    def evaluation(self) -> Evaluation:
        return Evaluation(self.cluster, self.plugins.bound_plugins(self.shape(), self.cluster))

    def place(self, node: str, **more: object) -> PodRecord:
        self.placed += 1
        pod = make_pod(f"placed{self.placed}", **more)  # type: ignore[arg-type]
        record = PodRecord(pod.metadata.key, pod, self.shapes.take(pod), node, assumed=False)
        self.cluster.add_pod(record)
        return record


def assert_same(kept: Evaluation, fresh: Evaluation) -> None:
    kept.refresh()
    fresh.refresh()
    np.testing.assert_array_equal(kept.verdicts, fresh.verdicts)
    np.testing.assert_array_equal(kept.keys, fresh.keys)
    assert {verdict: count for verdict, count in kept.counts().items() if count} == fresh.counts()
    assert kept.feasible_count == fresh.feasible_count == int((fresh.verdicts == PASS).sum())


@pytest.mark.parametrize("changes_between_looks", [1, 3, 50])
def test_kept_evaluation_equals_a_fresh_one_after_any_number_of_changes(changes_between_looks: int) -> None:
    bench = Bench()
    for at in range(30):
        taints = "a:PreferNoSchedule b:PreferNoSchedule" if at % 3 == 0 else "a:PreferNoSchedule" if at % 3 == 1 else ""
        bench.cluster.set_node(make_node(f"n{at}", taints=taints, cpu="2", labels={"rack": str(at % 4)}))
    kept = bench.evaluation()
    kept.refresh()
    records = []
    for step in range(300):
        node = f"n{step * 7 % 30}"
        match step % 6:
            case 0 | 1 | 2:
                records.append(bench.place(node, requests={"cpu": "1"}))
            case 3 if records:
                bench.cluster.remove_pod(records.pop(0))
            case 4:
                bench.cluster.set_node(make_node(node, taints="a:NoSchedule" if step % 4 else "", cpu="2"))
            case 5 if step % 5 == 0:
                bench.cluster.remove_node(node)
            case _:
                bench.cluster.set_node(make_node(node, cpu="2", images={"registry.example/app:1": 10**9}))
        if step % changes_between_looks == 0:
            assert_same(kept, bench.evaluation())
    assert_same(kept, bench.evaluation())


def test_normalised_scores_change_when_the_worst_node_drops_out() -> None:
    bench = Bench()
    bench.cluster.set_node(make_node("worst", taints="a:PreferNoSchedule b:PreferNoSchedule", cpu="1"))
    bench.cluster.set_node(make_node("middle", taints="a:PreferNoSchedule"))
    bench.cluster.set_node(make_node("best"))
    kept = bench.evaluation()
    kept.refresh()
    before = [Evaluation.score_of(key) for key in kept.keys.tolist()]
    record = bench.place("worst", requests={"cpu": "1"})
    kept.refresh()
    after = [Evaluation.score_of(key) for key in kept.keys.tolist()]
    assert before[1] - after[1] == 3 * 50, "one soft taint of at most one now counts in full"
    assert after[0] == -1
    assert before[2] == after[2]
    bench.cluster.remove_pod(record)
    kept.refresh()
    assert [Evaluation.score_of(key) for key in kept.keys.tolist()] == before


def test_best_key_is_the_first_of_equals_in_the_order_of_nodes() -> None:
    bench = Bench()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        bench.cluster.set_node(make_node(name, labels={"topology.kubernetes.io/zone": zone}))
    kept = bench.evaluation()
    kept.refresh()
    order = sorted(range(3), key=lambda row: -kept.keys[row])
    assert [bench.cluster.node(row).metadata.name for row in order] == ["a1", "b1", "a2"]
    bench.cluster.remove_node("a1")
    kept.refresh()
    assert bench.cluster.node(int(kept.keys.argmax())).metadata.name == "a2"


def test_reader_that_fell_behind_the_log_starts_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorman.scheduler.cache.cluster_state.LOG_ENTRIES_MAX", 10)
    bench = Bench()
    for at in range(8):
        bench.cluster.set_node(make_node(f"n{at}"))
    kept = bench.evaluation()
    kept.refresh()
    for at in range(40):
        bench.place(f"n{at % 8}", requests={"cpu": "1"})
    assert_same(kept, bench.evaluation())


def _key(bench: Bench, **more: object) -> object:
    bound_plugins = bench.plugins.bound_plugins(bench.shapes.take(make_pod("q", **more)), bench.cluster)  # type: ignore[arg-type]
    return shared_key(bound_plugins.row_filters, bound_plugins.row_scorers)


@pytest.mark.parametrize(
    ("other", "is_shared"),
    [
        pytest.param({"requests": {"cpu": "1"}, "tolerations": ":Exists"}, True, id="tolerations"),
        pytest.param({"requests": {"cpu": "1"}, "labels": {"a": "b"}}, True, id="labels"),
        pytest.param({"requests": {"cpu": "2"}}, False, id="amounts"),
        pytest.param({"requests": {"cpu": "1", "memory": "1Gi"}}, False, id="resources"),
        pytest.param({}, False, id="nothing-asked-for"),
    ],
)
def test_who_asks_for_the_same_shares_what_is_known_of_rows(other: dict[str, object], is_shared: bool) -> None:
    bench = Bench()
    own = _key(bench, requests={"cpu": "1"})
    assert own is not None
    assert (_key(bench, **other) == own) is is_shared


def test_judge_that_does_not_say_whom_it_is_like_is_asked_each_time() -> None:
    assert _key(Bench(), requests={"cpu": "1"}, ports=[{"containerPort": 80, "hostPort": 80}]) is None


def test_shared_rows_serve_evaluations_that_look_at_different_times() -> None:
    bench = Bench()
    for at in range(12):
        bench.cluster.set_node(make_node(f"n{at}", taints="a:NoSchedule" if at % 2 else "", cpu="2"))
    shapes = [
        bench.shapes.take(make_pod("p", requests={"cpu": "1"})),
        bench.shapes.take(make_pod("p", requests={"cpu": "1"}, tolerations="a:Exists")),
    ]
    bound_plugins = [bench.plugins.bound_plugins(shape, bench.cluster) for shape in shapes]
    rows = RowScores(bench.cluster, bound_plugins[0].row_filters, bound_plugins[0].row_scorers)
    kept = [Evaluation(bench.cluster, one, rows) for one in bound_plugins]
    for at in range(20):
        bench.place(f"n{at % 12}", requests={"cpu": "1"})
        if at % 7 == 0:
            bench.cluster.set_node(make_node(f"n{at % 12}", taints="b:NoSchedule", cpu="4"))
        look = at % 2 if at % 5 else None
        for number, one in enumerate(kept):
            if look is None or number == look:
                assert_same(one, Evaluation(bench.cluster, bound_plugins[number]))
