"""A scheduler in the plainest words: one pod, one node, one rule after another. Written from the specification only.

It shares no code with the scheduler under test except the reading of quantities and the matching of labels, taints
and node selectors, which have tables of their own.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from doorman.api.machinery.label_selectors import matches
from doorman.api.machinery.quantity import parse_quantity
from doorman.api.taints import Taint
from doorman.api.views.meta import LabelSelector
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod, PodAffinityTerm, TopologySpreadConstraint
from doorman.semantics.pods.node_selectors import preference_weight, selects_node
from doorman.semantics.taints.matching import is_tolerated

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
MEBI = 2**20


@dataclass
class World:
    """Nodes, and the pods on them by node name."""

    nodes: list[Node] = field(default_factory=list)
    pods: dict[str, list[Pod]] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    services: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    zones: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Names by region and zone, both in the order they appeared."""

    def put(self, node: Node) -> None:
        """Add a node, or replace one (in the same zone)."""
        name, labels = node.metadata.name, node.metadata.labels
        known = [at for at, other in enumerate(self.nodes) if other.metadata.name == name]
        if known:
            self.nodes[known[0]] = node
        else:
            self.nodes.append(node)
            zone = (labels.get("topology.kubernetes.io/region", ""), labels.get(ZONE, ""))
            self.zones.setdefault(zone, []).append(name)

    def remove(self, name: str) -> None:
        self.nodes = [node for node in self.nodes if node.metadata.name != name]
        for zone, names in list(self.zones.items()):
            if name in names:
                names.remove(name)
                if not names:
                    del self.zones[zone]

    def in_order(self) -> list[Node]:
        by_name = {node.metadata.name: node for node in self.nodes}
        out: list[Node] = []
        for turn in range(len(self.nodes)):
            out.extend(by_name[names[turn]] for names in self.zones.values() if turn < len(names))
        return out

    def on(self, node: Node) -> list[Pod]:
        return self.pods.get(node.metadata.name, [])


@dataclass
class Verdict:
    plugin: str
    reasons: list[str]
    final: bool


def requests(pod: Pod, assumed: dict[str, Fraction] | None = None) -> dict[str, int]:
    def of(container: object) -> dict[str, Fraction]:
        asked = {name: parse_quantity(text) for name, text in container.resources.requests.items()}
        return {**(assumed or {}), **asked}

    names: set[str] = set(assumed or {})
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        names |= set(container.resources.requests)
    names |= set(pod.spec.overhead) | set(pod.spec.resources.requests)
    out = {}
    for name in sorted(names):
        running = sum((of(c).get(name, Fraction(0)) for c in pod.spec.containers), Fraction(0))
        sidecars = peak = Fraction(0)
        for container in pod.spec.init_containers:
            mine = of(container).get(name, Fraction(0))
            if container.restart_policy == "Always":
                sidecars += mine
                peak = max(peak, sidecars)
            else:
                peak = max(peak, sidecars + mine)
        total = max(running + sidecars, peak)
        if name in pod.spec.resources.requests and (name in ("cpu", "memory") or name.startswith("hugepages-")):
            total = parse_quantity(pod.spec.resources.requests[name])
        if name in pod.spec.overhead:
            total += parse_quantity(pod.spec.overhead[name])
        out[name] = math.ceil(total * (1000 if name == "cpu" else 1))
    return out


def allocatable(node: Node, name: str) -> int:
    return math.ceil(parse_quantity(node.status.allocatable.get(name, "0")) * (1000 if name == "cpu" else 1))


def hard_taints(node: Node, pod: Pod) -> list[Taint]:
    hard = [taint for taint in node.spec.taints if taint.effect in ("NoSchedule", "NoExecute")]
    return [taint for taint in hard if not is_tolerated(taint, pod.spec.tolerations)]


def ports(pod: Pod) -> list[tuple[str, int, str]]:
    running = [*pod.spec.containers, *(c for c in pod.spec.init_containers if c.restart_policy == "Always")]
    return [(p.protocol, p.host_port, p.host_ip or "0.0.0.0") for c in running for p in c.ports if p.host_port > 0]


def term_means(world: World, owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
    named = set(term.namespaces)
    if not term.namespaces and term.namespace_selector is None:
        named = {owner.metadata.namespace}
    labels = world.namespaces.get(other.metadata.namespace, {})
    if other.metadata.namespace not in named and not matches(term.namespace_selector, labels):
        return False
    return matches(term.label_selector, other.metadata.labels)


def required(pod: Pod, kind: str) -> tuple[PodAffinityTerm, ...]:
    rules = getattr(pod.spec.affinity, kind, None)
    return () if rules is None else rules.required_during_scheduling_ignored_during_execution


def preferred(pod: Pod, kind: str) -> tuple:
    rules = getattr(pod.spec.affinity, kind, None)
    return () if rules is None else rules.preferred_during_scheduling_ignored_during_execution


def spread_matches(rule: TopologySpreadConstraint, owner: Pod, other: Pod, *, counting: bool) -> bool:
    keys = {key: owner.metadata.labels[key] for key in rule.match_label_keys if key in owner.metadata.labels}
    if any(other.metadata.labels.get(key) != value for key, value in keys.items()):
        return False
    if rule.label_selector is None:
        return bool(keys)
    empty = rule.label_selector == LabelSelector() and not keys
    return not (empty and counting) and matches(rule.label_selector, other.metadata.labels)


def spread_counts(world: World, pod: Pod, rule: TopologySpreadConstraint, node: Node) -> int:
    return sum(
        1
        for other in world.on(node)
        if other.metadata.namespace == pod.metadata.namespace
        and not other.metadata.deletion_timestamp
        and spread_matches(rule, pod, other, counting=True)
    )


def counts_for(rule: TopologySpreadConstraint, pod: Pod, node: Node) -> bool:
    if rule.node_affinity_policy != "Ignore" and not selects_node(pod.spec, node.metadata.labels, node.metadata.name):
        return False
    return not (rule.node_taints_policy == "Honor" and hard_taints(node, pod))


def spread_rules(world: World, pod: Pod, kind: str) -> tuple[list[TopologySpreadConstraint], bool]:
    """The rules that apply, and whether they are the system's defaults."""
    own = pod.spec.topology_spread_constraints
    if own:
        return [rule for rule in own if rule.when_unsatisfiable == kind], False
    if kind != "ScheduleAnyway":
        return [], True
    labels: dict[str, str] = {}
    for namespace, selector in world.services:
        if namespace == pod.metadata.namespace and all(
            pod.metadata.labels.get(key) == value for key, value in selector.items()
        ):
            labels.update(selector)
    if not labels:
        return [], True
    selector = LabelSelector(match_labels=labels)
    return [
        TopologySpreadConstraint(topology_key=key, max_skew=skew, when_unsatisfiable=kind, label_selector=selector)
        for key, skew in ((HOSTNAME, 3), (ZONE, 5))
    ], True


def filter_spread(world: World, pod: Pod, node: Node) -> Verdict | None:
    rules, _ = spread_rules(world, pod, "DoNotSchedule")
    reason = "node(s) didn't match pod topology spread constraints"
    for rule in rules:
        if rule.topology_key not in node.metadata.labels:
            return Verdict("PodTopologySpread", [f"{reason} (missing required label)"], True)
        domains: dict[str, int] = {}
        for other in world.nodes:
            labels = other.metadata.labels
            if all(r.topology_key in labels for r in rules) and counts_for(rule, pod, other):
                value = labels[rule.topology_key]
                domains[value] = domains.get(value, 0) + spread_counts(world, pod, rule, other)
        least = min(domains.values()) if domains and len(domains) >= (rule.min_domains or 1) else 0
        here = domains.get(node.metadata.labels[rule.topology_key], 0)
        if here + spread_matches(rule, pod, pod, counting=False) - least > rule.max_skew:
            return Verdict("PodTopologySpread", [reason], False)
    return None


def filter_affinity(world: World, pod: Pod, node: Node) -> Verdict | None:
    labels = node.metadata.labels
    wanted = required(pod, "pod_affinity")
    if wanted:
        pairs: Counter[tuple[str, str]] = Counter()
        for other_node in world.nodes:
            for other in world.on(other_node):
                if all(term_means(world, pod, term, other) for term in wanted):
                    for term in wanted:
                        value = other_node.metadata.labels.get(term.topology_key)
                        if value is not None:
                            pairs[term.topology_key, value] += 1
        keys_there = all(term.topology_key in labels for term in wanted)
        pods_there = all(pairs[term.topology_key, labels.get(term.topology_key, "")] > 0 for term in wanted)
        first = not pairs and all(term_means(world, pod, term, pod) for term in wanted)
        if not keys_there or not (pods_there or first):
            return Verdict("InterPodAffinity", ["node(s) didn't match pod affinity rules"], True)
    return filter_anti_affinity(world, pod, node)


def filter_anti_affinity(world: World, pod: Pod, node: Node) -> Verdict | None:
    for term in required(pod, "pod_anti_affinity"):
        for other_node in world.nodes:
            if same_domain(term.topology_key, node, other_node) and any(
                term_means(world, pod, term, other) for other in world.on(other_node)
            ):
                return Verdict("InterPodAffinity", ["node(s) didn't match pod anti-affinity rules"], False)
    for other_node in world.nodes:
        for other in world.on(other_node):
            for term in required(other, "pod_anti_affinity"):
                if same_domain(term.topology_key, node, other_node) and term_means(world, other, term, pod):
                    text = "node(s) didn't satisfy existing pods anti-affinity rules"
                    return Verdict("InterPodAffinity", [text], False)
    return None


def same_domain(key: str, one: Node, other: Node) -> bool:
    value = one.metadata.labels.get(key)
    return value is not None and value == other.metadata.labels.get(key)


def filter_fit(world: World, pod: Pod, node: Node) -> Verdict | None:
    there = world.on(node)
    reasons, final = [], False
    if len(there) + 1 > allocatable(node, "pods"):
        reasons.append("Too many pods")
    for name, amount in requests(pod).items():
        used = sum(requests(other).get(name, 0) for other in there)
        if amount > 0 and amount > allocatable(node, name) - used:
            reasons.append(f"Insufficient {name}")
            final = final or amount > allocatable(node, name)
    return Verdict("NodeResourcesFit", reasons, final) if reasons else None


def filter_ports(world: World, pod: Pod, node: Node) -> Verdict | None:
    for protocol, port, address in ports(pod):
        for other in world.on(node):
            for other_protocol, other_port, other_address in ports(other):
                if (protocol, port) == (other_protocol, other_port) and (
                    address == other_address or "0.0.0.0" in (address, other_address)
                ):
                    text = "node(s) didn't have free ports for the requested pod ports"
                    return Verdict("NodePorts", [text], False)
    return None


def bound_plugin(world: World, pod: Pod, node: Node) -> Verdict | None:
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if node.spec.unschedulable and not is_tolerated(cordon, pod.spec.tolerations):
        return Verdict("NodeUnschedulable", ["node(s) were unschedulable"], True)
    if hard_taints(node, pod):
        return Verdict("TaintToleration", ["node(s) had untolerated taint(s)"], True)
    if not selects_node(pod.spec, node.metadata.labels, node.metadata.name):
        return Verdict("NodeAffinity", ["node(s) didn't match Pod's node affinity/selector"], True)
    for rule in (filter_ports, filter_fit, filter_spread, filter_affinity):
        verdict = rule(world, pod, node)
        if verdict is not None:
            return verdict
    return None


def message(world: World, verdicts: dict[str, Verdict]) -> str:
    counted = Counter(reason for verdict in verdicts.values() for reason in verdict.reasons)
    listed = sorted(f"{count} {reason}" for reason, count in counted.items())
    return f"0/{len(world.nodes)} nodes are available: {', '.join(listed)}."


def scores(world: World, pod: Pod, feasible: list[Node]) -> dict[str, int]:
    """Weighted totals by node name."""
    parts = [
        (3, score_taints(pod, feasible)),
        (2, score_node_affinity(pod, feasible)),
        (1, score_least_allocated(world, pod, feasible)),
        (2, score_spread(world, pod, feasible)),
        (2, score_affinity(world, pod, feasible)),
        (1, score_balance(world, pod, feasible)),
        (1, score_images(world, pod, feasible)),
    ]
    return {
        node.metadata.name: sum(weight * part[at] for weight, part in parts if part) for at, node in enumerate(feasible)
    }


def score_taints(pod: Pod, feasible: list[Node]) -> list[int]:
    soft = [toleration for toleration in pod.spec.tolerations if toleration.effect in ("", "PreferNoSchedule")]
    raw = [
        sum(1 for taint in node.spec.taints if taint.effect == "PreferNoSchedule" and not is_tolerated(taint, soft))
        for node in feasible
    ]
    most = max(raw)
    return [100 if most == 0 else 100 - 100 * count // most for count in raw]


def score_node_affinity(pod: Pod, feasible: list[Node]) -> list[int]:
    raw = [preference_weight(pod.spec, node.metadata.labels, node.metadata.name) for node in feasible]
    most = max(raw)
    return raw if most == 0 else [100 * weight // most for weight in raw]


def score_least_allocated(world: World, pod: Pod, feasible: list[Node]) -> list[int]:
    assumed = {"cpu": Fraction(1, 10), "memory": Fraction(200 * MEBI)}
    out = []
    for node in feasible:
        got = []
        for name in ("cpu", "memory"):
            cap = allocatable(node, name)
            used = sum(requests(each, assumed)[name] for each in (*world.on(node), pod))
            if cap:
                got.append(0 if used > cap else (cap - used) * 100 // cap)
        out.append(sum(got) // len(got) if got else 0)
    return out


def score_balance(world: World, pod: Pod, feasible: list[Node]) -> list[int]:
    asked = requests(pod)
    if not asked.get("cpu") and not asked.get("memory"):
        return []

    def balance(node: Node, pods: list[Pod]) -> int:
        shares = []
        for name in ("cpu", "memory"):
            cap = allocatable(node, name)
            if cap:
                shares.append(min(sum(requests(each).get(name, 0) for each in pods) / cap, 1.0))
        deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == 2 else 0.0
        return int((1 - deviation) * 100)

    return [50 + (50 + balance(node, [*world.on(node), pod]) - balance(node, world.on(node))) // 2 for node in feasible]


def score_images(world: World, pod: Pod, feasible: list[Node]) -> list[int]:
    def having(image: str) -> list[int]:
        return [i.size_bytes for node in world.nodes for i in node.status.images if image in i.names]

    images = []
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        tagged = container.image.rfind(":") > container.image.rfind("/")
        images.append(container.image if tagged else f"{container.image}:latest")
    out = []
    for node in feasible:
        here = {name for image in node.status.images for name in image.names}
        total = 0
        for image in images:
            if image in here:
                sizes = having(image)
                total += int(sizes[0] * (len(sizes) / len(world.nodes)))
        most = 1000 * MEBI * len(images)
        total = min(max(total, 23 * MEBI), most)
        out.append(100 * (total - 23 * MEBI) // (most - 23 * MEBI))
    return out


def score_spread(world: World, pod: Pod, feasible: list[Node]) -> list[int]:
    rules, is_default = spread_rules(world, pod, "ScheduleAnyway")
    if not rules:
        return []
    keys = [rule.topology_key for rule in rules]

    def is_scored(node: Node) -> bool:
        return is_default or all(key in node.metadata.labels for key in keys)

    scored = [node for node in feasible if is_scored(node)]
    raw: list[int | None] = []
    for node in feasible:
        if not is_scored(node):
            raw.append(None)
            continue
        total = 0.0
        for rule in rules:
            key = rule.topology_key
            if key not in node.metadata.labels:
                continue
            if key == HOSTNAME:
                size, count = len(scored), spread_counts(world, pod, rule, node)
            else:
                size = len({other.metadata.labels.get(key) for other in scored})
                count = sum(
                    spread_counts(world, pod, rule, other)
                    for other in world.nodes
                    if is_scored(other)
                    and counts_for(rule, pod, other)
                    and other.metadata.labels.get(key) == node.metadata.labels[key]
                )
            total += float(count) * math.log(size + 2) + float(rule.max_skew - 1)
        raw.append(math.floor(total + 0.5))
    known = [score for score in raw if score is not None]
    most, least = max(known, default=0), min(known, default=0)
    return [0 if score is None else 100 if most == 0 else 100 * (most + least - score) // most for score in raw]


def score_affinity(world: World, pod: Pod, feasible: list[Node]) -> list[int]:
    pairs: Counter[tuple[str, str]] = Counter()

    def add(term: PodAffinityTerm, weight: int, node: Node) -> None:
        if term.topology_key in node.metadata.labels:
            pairs[term.topology_key, node.metadata.labels[term.topology_key]] += weight

    for node in world.nodes:
        for other in world.on(node):
            for sign, kind in ((1, "pod_affinity"), (-1, "pod_anti_affinity")):
                for weighted in preferred(pod, kind):
                    if term_means(world, pod, weighted.pod_affinity_term, other):
                        add(weighted.pod_affinity_term, sign * weighted.weight, node)
                for weighted in preferred(other, kind):
                    if term_means(world, other, weighted.pod_affinity_term, pod):
                        add(weighted.pod_affinity_term, sign * weighted.weight, node)
            for term in required(other, "pod_affinity"):
                if term_means(world, other, term, pod):
                    add(term, 1, node)
    raw = [
        sum(weight for (key, value), weight in pairs.items() if node.metadata.labels.get(key) == value)
        for node in feasible
    ]
    most, least = max(raw), min(raw)
    return [int(100 * ((score - least) / (most - least))) if most > least else 0 for score in raw]


@dataclass
class Clearing:
    """A node and the pods that would have to leave it."""

    node: str
    victims: list[str]
    rank_key: tuple[int, int, int, int]
    """What makes a node worse, the start of its victims left out."""


@dataclass
class Budget:
    namespace: str
    labels: dict[str, str]
    allowed: int


def preempt(world: World, pod: Pod, verdicts: dict[str, Verdict], budgets: list[Budget]) -> tuple[str, list[Clearing]]:
    """What preemption says when nothing helps, and every node that it could clear."""
    reasons: Counter[str] = Counter()
    preemption_candidates = []
    for node in world.in_order():
        name = node.metadata.name
        if verdicts[name].final:
            reasons["Preemption is not helpful for scheduling"] += 1
            continue
        everybody = world.on(node)
        lower = [other for other in everybody if other.spec.priority < pod.spec.priority]
        if not lower:
            reasons["No preemption victims found for incoming pod"] += 1
            continue
        lower.sort(key=lambda other: (-other.spec.priority, other.status.start_time or "now", other.metadata.key))
        stay = [other for other in everybody if other not in lower]
        world.pods[name] = stay
        verdict = bound_plugin(world, pod, node)
        if verdict is not None:
            world.pods[name] = everybody
            reasons.update(verdict.reasons)
            continue
        breaking = broken(lower, budgets)
        victims = []
        for other in [o for o in lower if o in breaking] + [o for o in lower if o not in breaking]:
            world.pods[name] = [*stay, other]
            if bound_plugin(world, pod, node) is None:
                stay.append(other)
            else:
                victims.append(other)
        world.pods[name] = everybody
        rank_key = (
            sum(1 for victim in victims if victim in breaking),
            max((victim.spec.priority for victim in victims), default=-(2**31)),
            sum(victim.spec.priority + 2**31 for victim in victims),
            len(victims),
        )
        preemption_candidates.append(Clearing(name, sorted(victim.metadata.name for victim in victims), rank_key))
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"preemption: 0/{len(world.nodes)} nodes are available: {', '.join(listed)}.", preemption_candidates


def broken(pods: list[Pod], budgets: list[Budget]) -> list[Pod]:
    left = [budget.allowed for budget in budgets]
    out = []
    for pod in pods:
        hit = False
        for at, budget in enumerate(budgets):
            meta = pod.metadata
            selected = budget.labels and all(meta.labels.get(key) == value for key, value in budget.labels.items())
            if meta.labels and selected and budget.namespace == meta.namespace:
                left[at] -= 1
                hit = hit or left[at] < 0
        if hit:
            out.append(pod)
    return out
