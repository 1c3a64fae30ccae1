"""A walk with kr8s, run as a program of its own: the library leaves connections for the interpreter's end to close.

python kr8s_walk.py KUBECONFIG
"""

import asyncio
import json
import sys
from typing import Any

import kr8s.asyncio
from kr8s.asyncio.objects import Node, Pod


async def walk(kubeconfig: str) -> dict[str, Any]:
    """What was seen at each step."""
    api = await kr8s.asyncio.api(kubeconfig=kubeconfig)
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kr", "namespace": "default", "labels": {"app": "kr"}},
        "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}], "nodeName": "nowhere"},
    }
    seen: dict[str, Any] = {}
    pod = await Pod(manifest, api=api)
    await pod.create()
    seen["listed"] = [found.name async for found in api.get("pods", namespace="default", label_selector="app=kr")]
    await pod.patch({"metadata": {"labels": {"more": "yes"}}})
    seen["patched"] = pod.labels["more"]
    async for type_, found in api.watch("pods", namespace="default", label_selector="app=kr"):
        seen["watched"] = [type_, found.labels["more"]]
        break
    node = await Node.get("node-1", api=api)
    await node.patch({"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}})
    seen["tainted"] = [taint["key"] for taint in node.taints]
    await node.patch({"spec": {"taints": None}})
    await pod.delete(force=True)
    seen["exists"] = await pod.exists()
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(walk(sys.argv[1]))))
