"""Manifests of resource.k8s.io, and story verbs for them."""

from collections.abc import Sequence
from typing import Any

from doorman.api.views.resource.devices import CLASSES, SLICES, TAINT_RULES
from doorman.api.views.resource.resource_claims import CLAIM_TEMPLATES, CLAIMS
from doorman.client.actions import Create, Delete, Patch, PatchType
from support.cluster import Story

DRIVER = "gpu.example.com"
Json = dict[str, Any]


def device(name: str, *taints: Json, **more: Any) -> Json:
    return {"name": name, **({"taints": list(taints)} if taints else {}), **more}


def taint(key: str = "broken", effect: str = "NoExecute", **more: Any) -> Json:
    return {"key": key, "effect": effect, **more}


def slice_manifest(
    node: str, devices: Sequence[Json | str], *, generation: int = 1, name: str = "", **spec: Any
) -> Json:
    place = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & spec.keys() else {"nodeName": node}
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1, **spec.pop("pool", {})}
    listed = [device(each) if isinstance(each, str) else each for each in devices]
    return {
        "metadata": {"name": name or f"{node}-gpus"},
        "spec": {"driver": DRIVER, "pool": pool, "devices": listed, **place, **spec},
    }


def request(name: str = "r", *, tolerations: Sequence[Json] = (), **exactly: Any) -> Json:
    own = {"deviceClassName": "gpu", **exactly}
    if tolerations:
        own["tolerations"] = list(tolerations)
    return {"name": name, "exactly": own}


def claim_spec(*requests: Json, **devices: Any) -> Json:
    return {"devices": {"requests": list(requests) or [request()], **devices}}


class DeviceStory:
    """Verbs on top of a story."""

    def __init__(self, story: Story) -> None:
        self.story = story

    async def given_class(self, name: str = "gpu", **spec: Any) -> None:
        selectors = [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]
        body = {"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}
        await self._create(CLASSES, body)

    async def given_slice(self, node: str, *devices: Json | str, **more: Any) -> None:
        await self._create(SLICES, slice_manifest(node, devices, **more))

    async def replace_slice(self, node: str, *devices: Json | str, **more: Any) -> None:
        body = slice_manifest(node, devices, **more)
        patch = Patch(resource=SLICES, name=body["metadata"]["name"], body={"spec": body["spec"]}, type=PatchType.MERGE)
        await self.story.client.patch(patch)
        await self.story.settle()

    async def given_claim(self, name: str, *requests: Json, namespace: str = "default", **devices: Any) -> None:
        await self._create(CLAIMS, {"metadata": {"name": name}, "spec": claim_spec(*requests, **devices)}, namespace)

    async def given_template(self, name: str, *requests: Json, **metadata: Any) -> None:
        body = {"metadata": {"name": name}, "spec": {"metadata": metadata, "spec": claim_spec(*requests)}}
        await self._create(CLAIM_TEMPLATES, body, "default")

    async def given_rule(self, name: str, taint_: Json, selector: Json | None = None) -> None:
        spec: Json = {"taint": taint_}
        if selector is not None:
            spec["deviceSelector"] = selector
        await self._create(TAINT_RULES, {"metadata": {"name": name}, "spec": spec})

    async def given_pod(
        self, name: str, *, namespace: str = "default", claim: str = "", template: str = "", **spec: Any
    ) -> None:
        entry = {"name": "d", **({"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template})}
        await self.story.given_pod(name, namespace=namespace, resourceClaims=[entry], **spec)

    async def delete(self, resource: str, name: str, namespace: str = "") -> None:
        await self.story.client.delete(Delete(resource=resource, namespace=namespace, name=name))
        await self.story.settle()

    def claim(self, name: str, namespace: str = "default") -> Any:
        return self.story.cluster.informers.lister(CLAIMS).get(f"{namespace}/{name}")

    def claims(self) -> list[Any]:
        return list(self.story.cluster.informers.lister(CLAIMS).list())

    def rule(self, name: str) -> Any:
        return self.story.cluster.informers.lister(TAINT_RULES).get(name)

    def allocated(self, claim: str) -> list[str]:
        """Names of the devices that a claim has."""
        found = self.claim(claim)
        if found is None or found.status.allocation is None:
            return []
        return [result.device for result in found.status.allocation.devices.results]

    def condition(self, rule: str) -> tuple[str, str, str]:
        found = self.rule(rule).status.conditions
        assert len(found) == 1, found
        assert found[0].type == "EvictionInProgress"
        return found[0].status, found[0].reason, found[0].message

    async def events(self, pod: str) -> list[str]:
        """Messages of the device taint eviction controller, in order; they are written a moment after the fact."""
        await self.story.advance(1)
        stored = self.story.cluster.cache.collection("events").objects.values()
        found = [one.document() for one in sorted(stored, key=lambda one: one.revision)]
        own = [one for one in found if one.get("reason") == "DeviceTaintManagerEviction"]
        return [one["message"] for one in own if one["involvedObject"]["name"] == pod]

    def message(self, pod: str) -> str:
        """Why the pod could not be scheduled."""
        condition = self.story.pod(pod).status.condition("PodScheduled")
        return "" if condition is None or condition.status == "True" else condition.message

    async def _create(self, resource: str, body: Json, namespace: str = "") -> None:
        await self.story.client.create(Create(resource=resource, namespace=namespace, body=body))
        await self.story.settle()
