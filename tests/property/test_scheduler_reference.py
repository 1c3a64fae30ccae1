"""The column scheduler and a plain per-node one agree on feasibility, scores and messages."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.outcomes import Placed, Rejected
from doorman.scheduler.scheduler import Scheduler
from support.scheduler_reference import Verdict, World, bound_plugin, message, scores

KEYS = ("a", "b")


def rarely(strategy: st.SearchStrategy, otherwise: object, *, one_in: int = 5) -> st.SearchStrategy:
    """Rules that refuse nodes are drawn seldom, or nothing would ever fit and no score be compared."""
    return st.integers(1, one_in).flatmap(lambda drawn: strategy if drawn == one_in else st.just(otherwise))


ZONES = ("x", "y", "z")
IMAGES = {"registry.example/app:1": 300 * 2**20, "registry.example/big:latest": 2000 * 2**20}

taints = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(KEYS),
            "value": st.sampled_from(("", "1", "2")),
            "effect": st.sampled_from(("NoSchedule", "NoExecute", *("PreferNoSchedule",) * 6)),
        }
    ),
    max_size=2,
)
tolerations = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "key": st.sampled_from(KEYS),
                "operator": st.sampled_from(("Exists", "Gt", "Lt")),
                "value": st.just("1"),
                "effect": st.sampled_from(("", "NoSchedule", "PreferNoSchedule")),
            }
        ),
        st.fixed_dictionaries({"key": st.sampled_from(KEYS), "operator": st.just("Equal"), "value": st.just("1")}),
        st.just({"operator": "Exists"}),
    ),
    max_size=2,
)
labels = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("web", "db")), max_size=2)
selectors = st.one_of(
    st.none(),
    st.just({}),
    st.builds(lambda value: {"matchLabels": {"app": value}}, st.sampled_from(("web", "db"))),
    st.just({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
    st.just({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}),
)
topology_keys = st.sampled_from(("kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"))
spread = st.lists(
    st.fixed_dictionaries(
        {
            "maxSkew": st.integers(1, 2),
            "topologyKey": topology_keys,
            "whenUnsatisfiable": st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": selectors,
            "nodeTaintsPolicy": st.sampled_from(("Ignore", "Honor")),
            "nodeAffinityPolicy": st.sampled_from(("Ignore", "Honor")),
            "minDomains": st.sampled_from((None, None, 2, 4)),
            "matchLabelKeys": st.sampled_from(([], ["tier"])),
        }
    ),
    max_size=2,
)
terms = st.fixed_dictionaries(
    {
        "topologyKey": topology_keys,
        "labelSelector": selectors,
        "namespaces": st.sampled_from(([], [], ["one"], ["two"])),
        "namespaceSelector": st.sampled_from((None, None, {}, {"matchLabels": {"team": "red"}})),
    }
)
weighted = st.fixed_dictionaries({"weight": st.integers(1, 100), "podAffinityTerm": terms})
pod_rules = st.fixed_dictionaries(
    {
        "requiredDuringSchedulingIgnoredDuringExecution": rarely(st.lists(terms, min_size=1, max_size=2), [], one_in=3),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(weighted, max_size=2),
    }
)
node_terms = st.fixed_dictionaries(
    {
        "matchExpressions": st.lists(
            st.sampled_from(
                (
                    {"key": "rack", "operator": "Exists", "values": []},
                    {"key": "rack", "operator": "NotIn", "values": ["1"]},
                    {"key": "rack", "operator": "Gt", "values": ["1"]},
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["x", "y"]},
                    {"key": "disk", "operator": "DoesNotExist", "values": []},
                )
            ),
            max_size=2,
        )
    }
)
node_rules = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": rarely(
            st.builds(lambda found: {"nodeSelectorTerms": found}, st.lists(node_terms, min_size=1, max_size=2)), None
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": node_terms}), max_size=2
        ),
    },
)
quantities = {"cpu": ("0", "100m", "250m", "500m", "1"), "memory": ("0", "64Mi", "100M", "1Gi")}
amounts = st.builds(
    lambda common, rare: {**common, **rare},
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in quantities.items()}),
    rarely(st.just({"example.com/gpu": "1"}), {}, one_in=8),
)
containers = st.fixed_dictionaries(
    {
        "name": st.just("c"),
        "image": st.sampled_from(("registry.example/app:1", "registry.example/big", "other")),
        "resources": st.builds(lambda found: {"requests": found}, amounts),
        "ports": rarely(
            st.lists(
                st.fixed_dictionaries(
                    {"hostPort": st.sampled_from((80, 81)), "hostIP": st.sampled_from(("", "10.0.0.1", "10.0.0.2"))}
                ),
                min_size=1,
                max_size=1,
            ),
            [],
            one_in=8,
        ),
        "restartPolicy": st.sampled_from(("", "Always")),
    }
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    zone, rack = draw(st.sampled_from((*ZONES, *ZONES, ""))), draw(st.sampled_from(("", "1", "2", "3", "2", "3")))
    document = {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                **({"topology.kubernetes.io/zone": zone} if zone else {}),
                **({"rack": rack} if rack else {}),
            },
        },
        "spec": {"taints": draw(taints), "unschedulable": draw(rarely(st.just(True), False, one_in=12))},
        "status": {
            "allocatable": {
                "cpu": draw(st.sampled_from(("4", "8", "3900m", "1", "0"))),
                "memory": draw(st.sampled_from(("8Gi", "16Gi", "7777777777", "1Gi"))),
                "pods": draw(st.sampled_from(("110", "110", "5", "3"))),
                **draw(st.sampled_from(({"example.com/gpu": "2"}, {"example.com/gpu": "9"}, {}))),
            },
            "images": [{"names": [image], "sizeBytes": size} for image, size in IMAGES.items() if draw(st.booleans())],
        },
    }
    return msgspec.convert(document, Node)


@st.composite
def pods(draw: st.DrawFn, name: str, node: str = "") -> Pod:
    rare = draw(st.integers(0, 5)) == 5
    document = {
        "metadata": {
            "name": name,
            "namespace": draw(st.sampled_from(("one", "two"))),
            "uid": name,
            "labels": draw(labels),
            "deletionTimestamp": "2026-01-01T00:00:00Z" if node and rare else "",
        },
        "spec": {
            "nodeName": node,
            "schedulerName": "default-scheduler",
            "containers": draw(st.lists(containers, min_size=1, max_size=2)),
            "initContainers": draw(rarely(st.lists(containers, max_size=2), [])),
            "tolerations": draw(tolerations),
            "nodeSelector": draw(rarely(st.just({"topology.kubernetes.io/zone": "x"}), {}, one_in=8)),
            "affinity": {
                "nodeAffinity": draw(rarely(node_rules, None, one_in=3)),
                "podAffinity": draw(rarely(pod_rules, None, one_in=3)),
                "podAntiAffinity": draw(rarely(pod_rules, None, one_in=3)),
            },
            "topologySpreadConstraints": draw(rarely(spread, [], one_in=2)),
            "overhead": {"cpu": "50m"} if rare else {},
            "resources": {"requests": {"memory": "2Gi"} if rare else {}},
            "priority": 0,
        },
    }
    return msgspec.convert(document, Pod)


class Service(msgspec.Struct):
    metadata: ObjectMeta
    spec: "ServiceSpec"


class ServiceSpec(msgspec.Struct):
    selector: dict[str, str]


def renamed(pod: Pod, name: str) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, name=name, uid=name))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    world = World(namespaces={"one": {"team": "red"}, "two": {}})
    for at in range(draw(st.integers(1, 6))):
        world.put(draw(nodes(f"n{at}")))
    for at in range(draw(st.integers(0, 8))):
        node = draw(st.sampled_from(world.nodes)).metadata.name
        world.pods.setdefault(node, []).append(draw(pods(f"old{at}", node)))
    if draw(st.booleans()):
        world.services.append(("one", {"app": "web"}))
    return world


def scheduler_of(world: World) -> Scheduler:
    scheduler = Scheduler(SchedulerConfig(), comparison_operators=True)
    for name, own in world.namespaces.items():
        scheduler.object_changed("namespaces", None, Node(metadata=ObjectMeta(name=name, labels=own)), 0.0)
    for at, (namespace, selector) in enumerate(world.services):
        service = Service(ObjectMeta(name=f"s{at}", namespace=namespace), ServiceSpec(selector))
        scheduler.object_changed("services", None, service, 0.0)
    for node in world.nodes:
        scheduler.node_changed(None, node, 0.0)
    for there in world.pods.values():
        for pod in there:
            scheduler.pod_changed(None, pod, 0.0)
    return scheduler


def expect_the_same(world: World, scheduler: Scheduler, pod: Pod) -> None:
    """Explain and schedule one pod and compare; it stays if it was placed."""
    explained = {verdict.node: verdict for verdict in scheduler.explain(pod, 1.0).nodes}
    scheduler.pod_changed(None, pod, 1.0)
    outcomes = scheduler.schedule(1.0, pods_max=99)
    outcome = next(found for found in outcomes if found.pod.metadata.uid == pod.metadata.uid)
    verdicts: dict[str, Verdict] = {}
    feasible = []
    for node in world.in_order():
        verdict = bound_plugin(world, pod, node)
        if verdict is None:
            feasible.append(node)
        else:
            verdicts[node.metadata.name] = verdict
    for name, verdict in explained.items():
        assert bool(verdict.objections) is (name in verdicts), "explain objects exactly where a filter does"
        if name in verdicts:
            plugin = verdict.objections[0].plugin
            assert plugin == verdicts[name].plugin
            said = [each.reason for each in verdict.objections if each.plugin == plugin]
            assert set(verdicts[name].reasons) <= set(said)
    if not feasible:
        assert isinstance(outcome, Rejected)
        head, _, _ = outcome.message.partition(" preemption: ")
        assert head == message(world, verdicts)
        scheduler.pod_changed(pod, None, 1.0)
        return
    assert isinstance(outcome, Placed)
    assert outcome.feasible_nodes == len(feasible)
    totals = scores(world, pod, feasible)
    best = next(name for name, total in totals.items() if total == max(totals.values()))
    assert totals == {name: verdict.total for name, verdict in explained.items() if verdict.fits}
    if len(feasible) > 1:
        assert outcome.score == max(totals.values())
    assert outcome.node == best
    bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=best))
    world.pods.setdefault(best, []).append(bound)
    scheduler.pod_changed(pod, bound, 1.0)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_columns_agree_with_the_plain_scheduler(data: st.DataObject) -> None:
    world = data.draw(worlds())
    scheduler = scheduler_of(world)
    kinds = [data.draw(pods(f"kind{at}")) for at in range(data.draw(st.integers(1, 2)))]
    for at in range(data.draw(st.integers(1, 5))):
        expect_the_same(world, scheduler, renamed(data.draw(st.sampled_from(kinds)), f"new{at}"))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_columns_agree_with_the_plain_scheduler_while_the_cluster_changes(data: st.DataObject) -> None:
    world = data.draw(worlds())
    scheduler = scheduler_of(world)
    kinds = [data.draw(pods(f"kind{at}")) for at in range(2)]
    for at in range(data.draw(st.integers(2, 8))):
        match data.draw(st.sampled_from(("pod", "pod", "pod", "change", "remove", "add", "delete"))):
            case "pod":
                if world.nodes:
                    expect_the_same(world, scheduler, renamed(data.draw(st.sampled_from(kinds)), f"new{at}"))
            case "change" if world.nodes:
                old = data.draw(st.sampled_from(world.nodes))
                new = data.draw(nodes(old.metadata.name))
                zone = {key: value for key, value in old.metadata.labels.items() if key.startswith("topology")}
                rest = {key: value for key, value in new.metadata.labels.items() if not key.startswith("topology")}
                meta = msgspec.structs.replace(new.metadata, labels=zone | rest)
                new = msgspec.structs.replace(new, metadata=meta)
                world.put(new)
                scheduler.node_changed(old, new, 1.0)
            case "remove" if world.nodes:
                gone = data.draw(st.sampled_from(world.nodes))
                world.remove(gone.metadata.name)
                scheduler.node_changed(gone, None, 1.0)
            case "add":
                fresh = data.draw(nodes(data.draw(st.sampled_from((f"m{at}", "n0", "n1")))))
                if fresh.metadata.name not in {node.metadata.name for node in world.nodes}:
                    world.put(fresh)
                    scheduler.node_changed(None, fresh, 1.0)
            case "delete":
                there = [pod for found in world.pods.values() for pod in found]
                if there:
                    pod = data.draw(st.sampled_from(there))
                    world.pods[pod.spec.node_name].remove(pod)
                    scheduler.pod_changed(pod, None, 1.0)
            case _:
                pass
