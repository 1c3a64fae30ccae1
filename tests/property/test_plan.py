"""A plan says what then happens: the same pods, at the same second, for the same reason, to the same places."""

from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from doorman.nodes.profile import NodeProfile, ProfileTaint
from doorman.plan.plan_actions import DrainNodes, LoseNodes, NodeChoice, PlanAction, TaintNodes
from doorman.semantics.taints.taint_spec import parse_taint_change
from support.planning import Original, comparable, plan_and_outcome, run_original

ZONES = ("", "a", "b", "c")
UNREACHABLE = "node.kubernetes.io/unreachable"
HORIZON_SECONDS = 900.0

PROFILES = st.builds(
    lambda zone, cpu, tainted: NodeProfile(
        zone=zone,
        capacity={"cpu": cpu, "pods": "12"},
        taints=(ProfileTaint(key="l", effect="NoSchedule"),) if tainted else (),
    ),
    st.sampled_from(ZONES),
    st.sampled_from(("2", "4", "8")),
    st.sampled_from((False, False, False, True)),
)
TOLERATIONS = st.sampled_from(
    (
        [],
        [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 45}],
        [{"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Exists"}],
        [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}],
        [{"operator": "Exists"}],
    )
)  # fmt: skip
WORKLOADS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(("Deployment", "Deployment", "StatefulSet", "DaemonSet", "Pod")),
            "replicas": st.integers(1, 6),
            "cpu": st.sampled_from(("100m", "500m", "1", "1500m")),
            "tolerations": TOLERATIONS,
            "priority": st.sampled_from(("", "", "high")),
            "startup": st.sampled_from(("", "", "3s")),
            "budget": st.sampled_from((None, None, 0, 1, 3)),
            "spread": st.booleans(),
        }
    ),
    min_size=1,
    max_size=4,
)
SOME = st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True)
ACTIONS = st.one_of(
    st.tuples(st.just("taint"), SOME, st.sampled_from(("k=v:NoExecute", "l:NoExecute", "k:NoSchedule"))),
    st.tuples(st.just("drain"), SOME, st.just("")),
    st.tuples(st.just("lose"), SOME, st.sampled_from(("", "100", "600"))),
    st.tuples(st.just("zone"), SOME, st.just("")),
)
BEFORE = st.lists(
    st.tuples(ACTIONS.filter(lambda action: action[0] not in ("lose", "drain")), st.sampled_from((5, 35, 70, 400))),
    max_size=1,
)


# Not shrunk: each example is two whole clusters, and the failing one is small enough to read.
@settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    profiles=st.lists(PROFILES, min_size=2, max_size=11),
    workloads=WORKLOADS,
    before=BEFORE,
    action=ACTIONS,
)
def test_plan_says_what_then_happens(
    profiles: list[NodeProfile], workloads: list[dict[str, Any]], before: list[Any], action: Any
) -> None:
    nodes = {f"node-{number}": profile for number, profile in enumerate(profiles, start=1)}

    async def story(original: Original) -> None:
        await given_workloads(original, workloads)
        await original.advance(30)
        for earlier, seconds in before:
            await original.do(chosen(earlier, nodes))
            await original.advance(seconds)
        known = original.pod_names()
        planned, happened = await plan_and_outcome(original, chosen(action, nodes), HORIZON_SECONDS)
        assert comparable(planned, known) == comparable(happened, known)

    run_original(story, nodes)


def chosen(action: tuple[str, list[int], str], nodes: dict[str, NodeProfile]) -> PlanAction:
    verb, numbers, detail = action
    names = tuple(dict.fromkeys(f"node-{1 + number % len(nodes)}" for number in numbers))
    match verb:
        case "taint":
            return TaintNodes(nodes=NodeChoice(names=names), change=parse_taint_change([detail]), overwrite=True)
        case "drain":
            return DrainNodes(nodes=NodeChoice(names=names))
        case "zone":
            zone = nodes[names[0]].zone
            return LoseNodes(nodes=NodeChoice(zone=zone) if zone else NodeChoice(names=names))
        case _:
            return LoseNodes(nodes=NodeChoice(names=names), seconds=float(detail) if detail else None)


async def given_workloads(original: Original, workloads: list[dict[str, Any]]) -> None:
    priority = {"metadata": {"name": "high"}, "value": 1000}
    await original.create("priorityclasses.scheduling.k8s.io", priority, namespace="")
    for number, one in enumerate(workloads):
        name = f"w{number}"
        labels = {"app": name}
        spec = pod_spec(one, labels)
        template = {"metadata": {"labels": labels, **annotations(one)}, "spec": spec}
        selector = {"matchLabels": labels}
        if one["kind"] == "Pod":
            await original.create("pods", {**template, "metadata": {**template["metadata"], "name": name}})
        else:
            body = {"selector": selector, "template": template, "replicas": one["replicas"]}
            if one["kind"] == "DaemonSet":
                del body["replicas"]
            await original.create(f"{one['kind'].lower()}s.apps", {"metadata": {"name": name}, "spec": body})
        if one["budget"] is not None:
            budget = {"maxUnavailable": one["budget"], "selector": selector}
            await original.create("poddisruptionbudgets.policy", {"metadata": {"name": name}, "spec": budget})


def annotations(one: dict[str, Any]) -> dict[str, Any]:
    return {"annotations": {"doorman.dev/startup": one["startup"]}} if one["startup"] else {}


def pod_spec(one: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    return {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": one["cpu"]}}}],
        "tolerations": one["tolerations"],
        **({"priorityClassName": one["priority"]} if one["priority"] else {}),
        **({"topologySpreadConstraints": [spread]} if one["spread"] else {}),
    }
