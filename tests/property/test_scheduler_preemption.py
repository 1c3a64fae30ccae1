"""Preemption clears the node that a plain search would clear, of the same pods."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.outcomes import Placed, Rejected
from doorman.scheduler.scheduler import Scheduler
from support.scheduler_reference import Budget, World, bound_plugin, message, preempt
from support.scheduling import make_node, make_pod

apps = st.sampled_from(({}, {"app": "web"}, {"app": "db"}))
requests = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from(("1", "2", "500m")), "memory": st.sampled_from(("1Gi", "3Gi"))}
)
anti_affinity = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


@st.composite
def pods(draw: st.DrawFn, name: str, node: str = "", priorities: tuple[int, ...] = (0, 5, 10, 50)) -> Pod:
    return make_pod(
        name,
        node=node,
        labels=draw(apps),
        requests=draw(requests),
        priority=draw(st.sampled_from(priorities)),
        ports=draw(st.sampled_from(([], [], [], [{"hostPort": 80}]))),
        affinity=draw(st.sampled_from((None, None, None, anti_affinity))),
        status={"startTime": f"2026-01-0{draw(st.integers(1, 9))}T00:00:00Z"} if node else None,
    )


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    return make_node(
        name,
        cpu=draw(st.sampled_from(("2", "4"))),
        memory=draw(st.sampled_from(("4Gi", "8Gi"))),
        pods=draw(st.sampled_from(("2", "3", "110"))),
        taints=draw(st.sampled_from(("", "", "", "a:NoSchedule"))),
    )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_victims_are_those_of_the_plain_search(data: st.DataObject) -> None:
    world = World()
    scheduler = Scheduler(SchedulerConfig(), comparison_operators=True)
    for at in range(data.draw(st.integers(1, 4))):
        world.put(data.draw(nodes(f"n{at}")))
        scheduler.node_changed(None, world.nodes[-1], 0.0)
    for at in range(data.draw(st.integers(1, 10))):
        pod = data.draw(pods(f"old{at}", data.draw(st.sampled_from(world.nodes)).metadata.name))
        world.pods.setdefault(pod.spec.node_name, []).append(pod)
        scheduler.pod_changed(None, pod, 0.0)
    budgets = []
    for at in range(data.draw(st.integers(0, 2))):
        budget = Budget("default", data.draw(apps), data.draw(st.integers(0, 2)))
        budgets.append(budget)
        document = {
            "metadata": {"name": f"b{at}", "namespace": "default"},
            "spec": {"selector": {"matchLabels": budget.labels}},
            "status": {"disruptionsAllowed": budget.allowed},
        }
        view = msgspec.convert(document, PodDisruptionBudget)
        scheduler.object_changed("poddisruptionbudgets.policy", None, view, 0.0)
    pod = data.draw(pods("p", priorities=(10, 50, 100)))
    scheduler.pod_changed(None, pod, 1.0)
    (outcome,) = scheduler.schedule(1.0, pods_max=1)
    verdicts = {node.metadata.name: bound_plugin(world, pod, node) for node in world.nodes}
    if None in verdicts.values():
        assert isinstance(outcome, Placed)
        return
    assert isinstance(outcome, Rejected)
    refused = {name: verdict for name, verdict in verdicts.items() if verdict is not None}
    failure, preemption_candidates = preempt(world, pod, refused, budgets)
    head = message(world, refused)
    if not preemption_candidates:
        assert outcome.message == f"{head} {failure}"
        assert (outcome.nominated, outcome.victims) == ("", ())
        return
    least = min(preemption_candidate.rank_key for preemption_candidate in preemption_candidates)
    chosen = next(
        preemption_candidate
        for preemption_candidate in preemption_candidates
        if preemption_candidate.node == outcome.nominated
    )
    assert chosen.rank_key == least
    assert sorted(victim.pod.metadata.name for victim in outcome.victims) == chosen.victims
    assert outcome.message == (
        f"{head} preemption: found a potential placement for pod on node {chosen.node}, "
        f"preempting {len(chosen.victims)} victims"
    )
    follower = make_pod("q", requests={"cpu": "100m"}, priority=1, tolerations="*")
    scheduler.pod_changed(None, follower, 1.0)
    (after,) = scheduler.schedule(1.0, pods_max=1)
    if isinstance(after, Placed):
        guests = {name: list(there) for name, there in world.pods.items()}
        guests.setdefault(chosen.node, []).append(pod)
        full = World(world.nodes, guests, zones=world.zones)
        node = next(node for node in world.nodes if node.metadata.name == after.node)
        assert bound_plugin(full, follower, node) is None, "room is left for the nominated pod"
