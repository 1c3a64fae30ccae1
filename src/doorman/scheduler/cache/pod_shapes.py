"""What the scheduler reads of a pod, shared by all pods that are alike.

A `Demand` is what a pod asks of a node whatever else runs in the cluster: tolerations, node selection, ports,
resources, images. A `Shape` is a demand plus what concerns other pods: namespace, labels, pod affinity, spread
constraints, the controller. Pods of one workload have one shape, and pods of many workloads may have one demand;
both are interned by their bytes, so everything derived from them is worked out once.

`ShapeTable` is the owner. A shape that no pod has any more is kept for a while (workloads come and go with the same
shape), the least recently used going first.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from doorman.api.views.meta import controller_of
from doorman.api.views.pods import Container, Pod, PodSpec
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.semantics.pods.host_ports import HostPort, host_ports
from doorman.semantics.pods.pod_resources import pod_requests, scoring_requests
from doorman.semantics.volumes.pod_volumes import asks_for_volumes

IDLE_SHAPES_MAX: Final = 1024
KNOWN_DEMANDS_MAX: Final = 1024

PodSignature = Callable[[Pod], object]
"""What a plugin of others reads of a pod beyond a demand, as something that can be encoded."""


class Demand:
    """See the module's docstring. Immutable after construction."""

    __slots__ = (
        "amounts", "id", "images", "ports", "requests", "scoring_cpu", "scoring_memory", "spec",
        "uses_volumes",
    )  # fmt: skip

    def __init__(self, number: int, spec: PodSpec, resources: ResourceIds) -> None:
        self.id = number
        self.spec = spec
        """Of the first pod seen with this demand; only what the demand covers may be read from it."""
        self.requests: tuple[tuple[str, int], ...] = tuple(
            (name, amount) for name, amount in sorted(pod_requests(spec).items()) if amount > 0
        )
        self.amounts: tuple[tuple[int, int], ...] = tuple(
            sorted((resources.index(name), amount) for name, amount in self.requests)
        )
        """The requests with resources as numbers."""
        self.scoring_cpu, self.scoring_memory = scoring_requests(spec)
        self.ports: tuple[HostPort, ...] = host_ports(spec)
        self.images: tuple[str, ...] = tuple(normalised_image(name) for name in _image_names(spec))
        """One for each container and image volume, doubles included."""
        self.uses_volumes = asks_for_volumes(spec)
        """Whether the pod has claims or disks: which, is its own affair."""


class Shape:
    """See the module's docstring. `rows` are owned by the cluster's columns, `related` by pod counting."""

    __slots__ = (
        "controller", "demand", "id", "labels", "leaving_rows", "namespace", "pod", "pods", "related", "rows",
    )  # fmt: skip

    def __init__(self, number: int, pod: Pod, demand: Demand) -> None:
        self.id = number
        self.demand = demand
        self.pod = pod
        """The first pod seen with this shape; only what the shape covers may be read from it."""
        self.namespace = pod.metadata.namespace
        self.labels = pod.metadata.labels
        owner = controller_of(pod.metadata)
        self.controller = None if owner is None else (owner.api_version, owner.kind, owner.name)
        self.pods = 0
        """How many known pods have it."""
        self.rows: dict[int, int] = {}
        """Pods of this shape by row of the columns, those that are leaving left out."""
        self.leaving_rows: dict[int, int] = {}
        """The same for pods that are being deleted."""
        self.related: object = None


class _KnownDemand:
    """A spec and its key. Pods that look the same have specs of the same parts, whatever node they are on."""

    __slots__ = ("_spec", "key", "node_name")

    def __init__(self, spec: PodSpec, node_name: str, key: bytes) -> None:
        self._spec = spec
        self.node_name = node_name
        self.key = key

    def has_parts_of(self, spec: PodSpec) -> bool:
        own = self._spec
        return (
            own.containers is spec.containers
            and own.tolerations is spec.tolerations
            and own.affinity is spec.affinity
            and own.node_selector is spec.node_selector
            and own.init_containers is spec.init_containers
            and own.overhead is spec.overhead
            and own.resources is spec.resources
            and own.volumes is spec.volumes
        )


class ShapeTable:
    """Interns shapes and demands.

    >>> table = ShapeTable(ResourceIds())
    >>> one, other = (Pod(spec=PodSpec(node_selector={"disk": "ssd"})) for _ in range(2))
    >>> table.take(one) is table.take(other)
    True
    """

    def __init__(
        self,
        resources: ResourceIds,
        signatures: Sequence[PodSignature] = (),
        *,
        on_new: Callable[[Shape], None] = lambda _shape: None,
        on_gone: Callable[[Shape], None] = lambda _shape: None,
    ) -> None:
        self._resources = resources
        self._signatures = tuple(signatures)
        self._known: dict[int, _KnownDemand] = {}
        """By the identity of the containers, which are kept alive here."""
        self._encoder = msgspec.msgpack.Encoder()
        self._shapes: dict[bytes, Shape] = {}
        self._keys: dict[int, bytes] = {}
        self._demands: dict[bytes, Demand] = {}
        self._idle: OrderedDict[int, Shape] = OrderedDict()
        self._last_number = 0
        self._on_new = on_new
        self._on_gone = on_gone

    def __len__(self) -> int:
        return len(self._shapes)

    def all(self) -> Sequence[Shape]:
        """In order of first appearance."""
        return list(self._shapes.values())

    def take(self, pod: Pod, *, placed: bool = False) -> Shape:
        """The pod's shape, counted as in use once more; give it back with `release`.

        A pod that is `placed` has the shape it had before it got its node.
        """
        shape = self.find(pod, placed=placed)
        if shape.pods == 0:
            self._idle.pop(shape.id, None)
        shape.pods += 1
        return shape

    def release(self, shape: Shape) -> None:
        assert shape.pods > 0, "a shape is released as often as it was taken"
        shape.pods -= 1
        if shape.pods == 0:
            self._idle[shape.id] = shape
            self._drop_idle()

    def find(self, pod: Pod, *, placed: bool = False) -> Shape:
        """The pod's shape, for a look only."""
        demand_key = self._demand_key(pod, "" if placed else pod.spec.node_name)
        spec, meta = pod.spec, pod.metadata
        others = () if spec.affinity is None else (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity)
        owner = controller_of(meta)
        controller = None if owner is None else (owner.api_version, owner.kind, owner.name)
        key = self._encoder.encode(
            (demand_key, meta.namespace, meta.labels, others, spec.topology_spread_constraints, controller)
        )
        shape = self._shapes.get(key)
        if shape is None:
            demand = self._demands.get(demand_key)
            if placed:
                spec = msgspec.structs.replace(spec, node_name="")
            if demand is None:
                demand = self._demands[demand_key] = Demand(self._number(), spec, self._resources)
            shape = self._shapes[key] = Shape(self._number(), pod, demand)
            self._keys[shape.id] = key
            self._idle[shape.id] = shape
            self._on_new(shape)
            self._drop_idle()
        return shape

    def _demand_key(self, pod: Pod, node_name: str) -> bytes:
        known = self._known.get(id(pod.spec.containers))
        if known is not None and known.node_name == node_name and known.has_parts_of(pod.spec):
            return known.key
        key = self._encoded_demand(pod, node_name)
        if not self._signatures:
            if len(self._known) >= KNOWN_DEMANDS_MAX:
                self._known.clear()
            self._known[id(pod.spec.containers)] = _KnownDemand(pod.spec, node_name, key)
        return key

    def _encoded_demand(self, pod: Pod, node_name: str) -> bytes:
        spec = pod.spec
        return self._encoder.encode(
            (
                node_name,
                spec.tolerations,
                spec.node_selector,
                None if spec.affinity is None else spec.affinity.node_affinity,
                [_container_part(container) for container in spec.containers],
                [(_container_part(container), container.restart_policy) for container in spec.init_containers],
                spec.overhead,
                spec.resources.requests,
                [volume.image.reference for volume in spec.volumes if volume.image is not None],
                asks_for_volumes(spec),
                [signature(pod) for signature in self._signatures],
            )
        )

    def _drop_idle(self) -> None:
        while len(self._idle) > IDLE_SHAPES_MAX:
            _, shape = self._idle.popitem(last=False)
            assert not shape.rows, "a shape without pods is on no node"
            self._on_gone(shape)
            del self._shapes[self._keys.pop(shape.id)]
        if len(self._demands) > 2 * len(self._shapes) + IDLE_SHAPES_MAX:
            used = {shape.demand.id for shape in self._shapes.values()}
            self._demands = {key: demand for key, demand in self._demands.items() if demand.id in used}

    def _number(self) -> int:
        self._last_number += 1
        return self._last_number


def normalised_image(name: str) -> str:
    """
    >>> normalised_image("registry.example:5000/app"), normalised_image("app:2"), normalised_image("")
    ('registry.example:5000/app:latest', 'app:2', '')
    """
    if not name:
        return ""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def _container_part(container: Container) -> object:
    """What the demand reads of a container."""
    ports = [(port.protocol, port.host_port, port.host_ip) for port in container.ports if port.host_port]
    return container.image, container.resources.requests, ports


def _image_names(spec: PodSpec) -> list[str]:
    containers = (*spec.init_containers, *spec.containers)
    volumes = (volume.image for volume in spec.volumes if volume.image is not None)
    return [container.image for container in containers] + [image.reference for image in volumes]
