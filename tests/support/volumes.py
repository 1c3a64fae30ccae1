"""Manifests of volumes, claims and classes, and story verbs for them."""

from collections.abc import Sequence
from typing import Any

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import CSI_NODES, CsiNode
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES, PersistentVolume, PersistentVolumeClaim
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES, StorageClass
from doorman.api.volume_annotations import BIND_COMPLETED
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.nodes.fleet import Fleet, FleetEntry
from doorman.nodes.profile import NodeProfile
from doorman.registry.cache.selection import Selection
from support.cluster import Story

ZONE = "topology.kubernetes.io/zone"
Json = dict[str, Any]


def fleet(*zones: str, nodes_of_a_zone: int = 1) -> Fleet:
    """Nodes a-1, a-2, … for each zone."""
    return Fleet(
        profiles={zone: NodeProfile(zone=zone) for zone in zones},
        nodes=tuple(FleetEntry(profile=zone, count=nodes_of_a_zone, prefix=f"{zone}-") for zone in zones),
    )


def claim_spec(*, size: str = "1Gi", modes: Sequence[str] = ("ReadWriteOnce",), **more: Any) -> Json:
    return {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **more}


def volume_spec(*, size: str = "1Gi", modes: Sequence[str] = ("ReadWriteOnce",), zone: str = "", **more: Any) -> Json:
    spec: Json = {"capacity": {"storage": size}, "accessModes": list(modes), "storageClassName": "", **more}
    if "csi" not in spec:
        spec["nfs"] = {"server": "nfs.example.com", "path": "/x"}
    if zone:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return spec


def claim_view(name: str = "c", *, metadata: Json | None = None, status: Json | None = None, **spec: Any) -> Any:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", **(metadata or {})}
    document = {"metadata": meta, "spec": claim_spec(**spec), "status": status or {"phase": "Pending"}}
    return to_view(document, PersistentVolumeClaim)


def bound_claim_view(name: str, volume: str, **more: Any) -> Any:
    metadata = {"annotations": {BIND_COMPLETED: "yes"}}
    return claim_view(name, metadata=metadata, status={"phase": "Bound"}, volumeName=volume, **more)


def volume_view(name: str = "v", *, metadata: Json | None = None, phase: str = "Available", **spec: Any) -> Any:
    document = {
        "metadata": {"name": name, "uid": f"uid-{name}", **(metadata or {})},
        "spec": volume_spec(**spec),
        "status": {"phase": phase},
    }
    return to_view(document, PersistentVolume)


def class_view(
    name: str, *, provisioner: str = "example.com/p", mode: str = "WaitForFirstConsumer", **more: Any
) -> Any:
    document = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    return to_view(document, StorageClass)


def csi_node_view(name: str, **counts: int) -> Any:
    """`__` in a driver's name stands for `.`."""
    drivers = [
        {"name": driver.replace("__", "."), "nodeID": name, "allocatable": {"count": count}}
        for driver, count in counts.items()
    ]
    return to_view({"metadata": {"name": name}, "spec": {"drivers": drivers}}, CsiNode)


def uses(*claims: str) -> list[Json]:
    """The `volumes` of a pod that uses claims."""
    return [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": name}} for at, name in enumerate(claims)]


class VolumeStory:
    """Verbs on top of a story."""

    def __init__(self, story: Story) -> None:
        self.story = story

    async def given_claim(self, name: str, *, annotations: Json | None = None, **spec: Any) -> None:
        body = {"metadata": {"name": name, "annotations": annotations or {}}, "spec": claim_spec(**spec)}
        await self._create(CLAIMS, body, "default")

    async def given_volume(self, name: str, *, labels: Json | None = None, **spec: Any) -> None:
        await self._create(VOLUMES, {"metadata": {"name": name, "labels": labels or {}}, "spec": volume_spec(**spec)})

    async def given_class(self, name: str, *, provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> None:
        await self._create(STORAGE_CLASSES, {"metadata": {"name": name}, "provisioner": provisioner, **more})

    async def given_limit(self, node: str, driver: str, count: int) -> None:
        drivers = [{"name": driver, "nodeID": node, "topologyKeys": [], "allocatable": {"count": count}}]
        await self._create(CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": drivers}})

    async def given_stateful_set(self, name: str, *, replicas: int, **template_spec: Any) -> None:
        labels = {"app": name}
        container = {
            "name": "c", "image": "registry.k8s.io/pause:3.10", "volumeMounts": [{"name": "data", "mountPath": "/d"}],
        }  # fmt: skip
        spec = {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **template_spec}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec()}],
        }
        await self._create("statefulsets.apps", {"metadata": {"name": name}, "spec": spec}, "default")

    async def delete_claim(self, name: str) -> None:
        await self.story.client.delete(Delete(resource=CLAIMS, namespace="default", name=name))
        await self.story.settle()

    async def patch_claim(self, name: str, body: Json) -> None:
        patch = Patch(resource=CLAIMS, namespace="default", name=name, body=body, type=PatchType.MERGE)
        await self.story.client.patch(patch)
        await self.story.settle()

    def claim(self, name: str) -> Any:
        return self.story.cluster.informers.lister(CLAIMS).get(f"default/{name}")

    def volume(self, name: str) -> Any:
        return self.story.cluster.informers.lister(VOLUMES).get(name)

    def volume_of(self, claim: str) -> Any:
        return self.volume(self.claim(claim).spec.volume_name)

    def zone_of(self, claim: str) -> str:
        [term] = self.volume_of(claim).spec.node_affinity.required.node_selector_terms
        [expression] = term.match_expressions
        return str(expression.values[0])

    def message(self, pod: str) -> str:
        """Why the pod is not scheduled."""
        condition = self.story.pod(pod).status.condition("PodScheduled")
        return condition.message if condition is not None and condition.status == "False" else ""

    def events(self, name: str) -> list[tuple[str, str]]:
        """Reasons and messages of events about an object of this name."""
        registry = self.story.cluster.registry
        stored = registry.collection(registry.kinds.named("events")).select(Selection(storage="events"))
        found = [one.document() for one in stored]
        return [(one["reason"], one["message"]) for one in found if one["involvedObject"].get("name") == name]

    async def _create(self, resource: str, body: Json, namespace: str = "") -> None:
        await self.story.client.create(Create(resource=resource, namespace=namespace, body=body))
        await self.story.settle()
