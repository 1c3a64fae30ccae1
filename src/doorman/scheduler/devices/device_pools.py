"""Pools of devices, as slices publish them, and which of them a node can reach.

Rules
-----
1. A slice is for a node by name, for all nodes, for nodes that a selector means, or each of its devices says so itself.
2. Of a pool only the slices of the highest generation count, among those that are for the node.
3. A pool is complete when it has as many slices of that generation as they say. Slices for other nodes count too; but
   when one of those has a higher generation the driver is about to replace the pool, and it is passed over.
4. Nothing is allocated from an incomplete pool, nor from one that contradicts itself: a device or a counter set twice,
   or counters that no set has.
5. Pools come in order of driver and name, those with binding conditions last; slices in order of their names, devices
   as they are listed.

Slices are filed by the nodes they name, so what a node can reach is found without looking at the others', and is kept
until one of its pools changes.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import NodeSelector
from doorman.api.views.resource.devices import CounterSet, DeviceTaintRule, ResourceSlice
from doorman.scheduler.devices.allocation.allocated_devices import PoolId
from doorman.scheduler.devices.published_devices import AnswersOfAlike, PublishedDevice
from doorman.semantics.pods.node_selectors import term_matches


class NodePool(msgspec.Struct, frozen=True, gc=False):
    """A pool as one node sees it."""

    id: PoolId
    devices: tuple[PublishedDevice, ...] = ()
    """Those the node can reach."""
    counter_sets: tuple[CounterSet, ...] = ()
    everywhere: Mapping[str, PublishedDevice] = {}
    """All devices of the pool by name, when they consume counters: others' count as well."""
    is_incomplete: bool = False
    contradiction: str = ""


class _Slice:
    """A slice and its devices."""

    __slots__ = ("devices", "slice")

    def __init__(self, slice_: ResourceSlice, alike: AnswersOfAlike) -> None:
        self.slice = slice_
        self.devices = tuple(PublishedDevice(slice_, device, alike) for device in slice_.spec.devices)


class DevicePools:
    """Told of slices and rules; asked what a node can reach."""

    def __init__(self) -> None:
        self._slices: dict[str, _Slice] = {}
        self._pools: dict[PoolId, dict[str, _Slice]] = {}
        self._by_node: dict[str, dict[PoolId, int]] = {}
        """Pools by the nodes that their slices name, with how many slices do."""
        self._wide: dict[PoolId, int] = {}
        """Pools with slices that name no single node."""
        self._reach: dict[str, tuple[NodePool, ...]] = {}
        self._rules: Mapping[str, DeviceTaintRule] = {}
        self._alike = AnswersOfAlike()

    def __len__(self) -> int:
        return len(self._slices)

    def __contains__(self, slice_name: str) -> bool:
        return slice_name in self._slices

    def put(self, slice_: ResourceSlice) -> frozenset[str] | None:
        """A slice was published or changed. Gives the nodes to which that matters; None when it may be any."""
        touched = self.remove(slice_.metadata.name)
        published = _Slice(slice_, self._alike)
        for device in published.devices:
            device.add_taints(self._rules.values())
        self._slices[slice_.metadata.name] = published
        pool = pool_of(slice_)
        self._pools.setdefault(pool, {})[slice_.metadata.name] = published
        names = _node_names(slice_)
        if names is None:
            self._wide[pool] = self._wide.get(pool, 0) + 1
        else:
            for name in names:
                held = self._by_node.setdefault(name, {})
                held[pool] = held.get(pool, 0) + 1
        return _union(touched, self._forget(pool))

    def remove(self, name: str) -> frozenset[str] | None:
        """A slice was withdrawn, or is about to be replaced."""
        published = self._slices.pop(name, None)
        if published is None:
            return frozenset()
        pool = pool_of(published.slice)
        touched = self._forget(pool)
        del self._pools[pool][name]
        if not self._pools[pool]:
            del self._pools[pool]
        names = _node_names(published.slice)
        if names is None:
            _less_one(self._wide, pool)
        else:
            for node in names:
                _less_one(self._by_node[node], pool)
                if not self._by_node[node]:
                    del self._by_node[node]
        return touched

    def set_rules(self, rules: Mapping[str, DeviceTaintRule]) -> frozenset[str] | None:
        """The rules are these from now on, in this order. Gives the nodes whose devices have other taints now."""
        self._rules = rules
        touched: frozenset[str] | None = frozenset()
        for pool, slices in self._pools.items():
            changed = [device.add_taints(rules.values()) for one in slices.values() for device in one.devices]
            if any(changed):
                touched = _union(touched, self._nodes_of(pool))
        return touched

    def node_changed(self, name: str) -> None:
        """Its labels may be others: what it can reach is looked up anew."""
        self._reach.pop(name, None)

    def nodes_of(self, pool: PoolId) -> frozenset[str] | None:
        """The nodes that can reach a pool; None when it may be any."""
        return self._nodes_of(pool)

    def reached_by(self, node: Node) -> tuple[NodePool, ...]:
        """Rules 1 to 5."""
        name = node.metadata.name
        found = self._reach.get(name)
        if found is None:
            pools = {**dict.fromkeys(self._by_node.get(name, ())), **dict.fromkeys(self._wide)}
            gathered = [self._seen_from(node, pool) for pool in sorted(pools)]
            found = tuple(sorted((pool for pool in gathered if pool is not None), key=_binds_late))
            self._reach[name] = found
        return found

    def all_devices(self) -> Iterable[PublishedDevice]:
        for name in sorted(self._slices):
            yield from self._slices[name].devices

    def _seen_from(self, node: Node, pool: PoolId) -> NodePool | None:
        slices = self._pools[pool]
        reachable = [one for one in slices.values() if _is_for(one.slice, node)]
        if not reachable:
            return None
        generation = max(one.slice.spec.pool.generation for one in reachable)
        current = [one for one in reachable if one.slice.spec.pool.generation == generation]
        wanted = current[0].slice.spec.pool.resource_slice_count
        everything = current
        if len(current) != wanted:
            if any(one.slice.spec.pool.generation > generation for one in slices.values()):
                return None
            everything = [one for one in slices.values() if one.slice.spec.pool.generation == generation]
            if len(everything) != wanted:
                return NodePool(pool, is_incomplete=True)
        return _built(pool, node, sorted(current, key=_name), sorted(everything, key=_name))

    def _forget(self, pool: PoolId) -> frozenset[str] | None:
        """What nodes were known to reach of a pool is looked up anew."""
        nodes = self._nodes_of(pool)
        if nodes is None:
            self._reach.clear()
        else:
            for name in nodes:
                self._reach.pop(name, None)
        return nodes

    def _nodes_of(self, pool: PoolId) -> frozenset[str] | None:
        if pool in self._wide:
            return None
        names: dict[str, None] = {}
        for one in self._pools.get(pool, {}).values():
            names.update(dict.fromkeys(_node_names(one.slice) or ()))
        return frozenset(names)


def pool_of(slice_: ResourceSlice) -> PoolId:
    return slice_.spec.driver, slice_.spec.pool.name


def node_matches(node: Node, *, name: str, all_nodes: bool, selector: NodeSelector | None) -> bool:
    """Rule 1, for a slice or for a device."""
    if name:
        return name == node.metadata.name
    if all_nodes:
        return True
    if selector is None:
        return False
    meta = node.metadata
    return any(term_matches(term, meta.labels, meta.name) for term in selector.node_selector_terms)


def _is_for(slice_: ResourceSlice, node: Node) -> bool:
    spec = slice_.spec
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return node_matches(node, name=spec.node_name, all_nodes=spec.all_nodes, selector=spec.node_selector)
    return spec.per_device_node_selection and any(
        node_matches(node, name=device.node_name, all_nodes=device.all_nodes, selector=device.node_selector)
        for device in spec.devices
    )


def _node_names(slice_: ResourceSlice) -> tuple[str, ...] | None:
    """The nodes a slice names; None when it means any others."""
    spec = slice_.spec
    if spec.node_name:
        return (spec.node_name,)
    if spec.per_device_node_selection and all(device.node_name for device in spec.devices):
        return tuple(dict.fromkeys(device.node_name for device in spec.devices))
    return None


def _built(pool: PoolId, node: Node, current: Sequence[_Slice], everything: Sequence[_Slice]) -> NodePool:
    holding = [one for one in current if not one.slice.spec.shared_counters]
    devices = [device for one in holding for device in one.devices if _reaches(one.slice, device, node)]
    sets = tuple(one for each in everything for one in each.slice.spec.shared_counters)
    contradiction = _contradiction(holding, everything, sets)
    if contradiction:
        return NodePool(pool, contradiction=contradiction)
    everywhere = {device.device.name: device for one in everything for device in one.devices} if sets else {}
    return NodePool(pool, tuple(devices), sets, everywhere)


def _reaches(slice_: ResourceSlice, published: PublishedDevice, node: Node) -> bool:
    if not slice_.spec.per_device_node_selection:
        return True
    device = published.device
    return node_matches(node, name=device.node_name, all_nodes=device.all_nodes, selector=device.node_selector)


def _contradiction(holding: Sequence[_Slice], everything: Sequence[_Slice], sets: Sequence[CounterSet]) -> str:
    """Rule 4."""
    names: set[str] = set()
    for one in holding:
        for published in one.devices:
            if published.device.name in names:
                return f"duplicate device name {published.device.name}"
            names.add(published.device.name)
    known: dict[str, CounterSet] = {}
    for counter_set in sets:
        if counter_set.name in known:
            return f"duplicate counter set name {counter_set.name}"
        known[counter_set.name] = counter_set
    for one in everything:
        for published in one.devices:
            for consumption in published.device.consumes_counters:
                found = known.get(consumption.counter_set)
                if found is None:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if name not in found.counters:
                        return f"counter {name} not found in counter set {found.name}"
    return ""


def _binds_late(pool: NodePool) -> bool:
    return any(published.device.binding_conditions for published in pool.devices)


def _name(one: _Slice) -> str:
    return one.slice.metadata.name


def _union(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


def _less_one(counts: dict[PoolId, int], pool: PoolId) -> None:
    counts[pool] -= 1
    if not counts[pool]:
        del counts[pool]
