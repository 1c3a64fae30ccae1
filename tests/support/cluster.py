"""A whole cluster in process, on virtual time: story verbs for integration tests.

async def story(cluster: Story) -> None:
    await cluster.given_pod("p", tolerations=[...])
    await cluster.taint("node-1", "k=v:NoExecute")
    await cluster.advance(59)
    cluster.expect_running("p")
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from doorman.base.clock import Alarm, Instant, ManualClock
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.runtime.virtual_time import VirtualLoop
from doorman.semantics.taints.taint_spec import Changed, apply_taint_change, parse_taint_change
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import Store


class SettableClock:
    """A virtual clock that somebody sets: the time of day is another, and no time has passed."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.ahead_seconds = 0.0

    def now(self) -> Instant:
        return self._clock.now() + self.ahead_seconds

    def steady(self) -> float:
        return self._clock.steady()

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        return self._clock.call_at(instant - self.ahead_seconds, callback)


class Story:
    def __init__(self, store: Store, settings: Settings, clock: SettableClock) -> None:
        self._store = store
        self._settings = settings
        self.clock = clock
        self.cluster = ControlPlane(ApiServer(store, settings, clock), settings, clock)
        self.client = self.cluster.client_as("admin", "story", "system:masters")

    async def start(self) -> None:
        await self.cluster.prepare(port=6443, ca_certificate=b"test")
        self.cluster.start()
        await self.cluster.add_nodes()
        await self.settle()

    async def restart(self) -> None:
        """The server ends and a new one takes up what was stored; all that was only remembered is lost."""
        await self.cluster.stop()
        self.cluster = ControlPlane(ApiServer(self._store, self._settings, self.clock), self._settings, self.clock)
        self.client = self.cluster.client_as("admin", "story", "system:masters")
        await self.start()

    async def settle(self) -> None:
        """Let everything that can happen now happen."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await loop.until_idle()

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.settle()

    async def set_clock(self, seconds: float) -> None:
        """Forwards, or back."""
        self.clock.ahead_seconds += seconds
        await self.settle()

    async def given_pod(self, name: str, *, namespace: str = "default", **spec: Any) -> None:
        body = {
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}], **spec},
        }
        await self.client.create(Create(resource="pods", namespace=namespace, body=body))
        await self.settle()

    async def taint(self, node: str, *specs: str) -> None:
        """As `kubectl taint nodes NODE SPECS... --overwrite`."""
        view = self.cluster.informers.lister("nodes").get(node)
        assert view is not None, f"no node {node}"
        changed = apply_taint_change(view.spec.taints, parse_taint_change(specs), node_name=node, overwrite=True)
        assert isinstance(changed, Changed), changed
        taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in changed.taints]
        await self.client.patch(
            Patch(resource="nodes", name=node, body={"spec": {"taints": taints or None}}, type=PatchType.MERGE)
        )
        await self.settle()

    async def order(self, node: str, body: dict[str, Any]) -> None:
        """A merge patch of the node, such as those of `doorman.nodes.node_commands`."""
        await self.client.patch(Patch(resource="nodes", name=node, body=body, type=PatchType.MERGE))
        await self.settle()

    async def delete_pod(self, name: str, *, namespace: str = "default") -> None:
        await self.client.delete(Delete(resource="pods", namespace=namespace, name=name))
        await self.settle()

    def pod(self, name: str, *, namespace: str = "default") -> Any:
        return self.cluster.informers.lister("pods").get(f"{namespace}/{name}")

    def node(self, name: str) -> Any:
        return self.cluster.informers.lister("nodes").get(name)

    def taints(self, node: str) -> list[str]:
        """As `key:effect`, without the prefix of Kubernetes' own keys."""
        taints = self.node(node).spec.taints
        return [f"{t.key.removeprefix('node.kubernetes.io/')}:{t.effect}" for t in taints]

    def expect_running(self, name: str, *, on: str | None = None) -> None:
        pod = self.pod(name)
        assert pod is not None, f"pod {name} is gone"
        assert pod.status.phase == "Running", f"pod {name} is {pod.status.phase}"
        assert not pod.metadata.deletion_timestamp, f"pod {name} is being deleted"
        if on is not None:
            assert pod.spec.node_name == on

    def expect_gone(self, name: str) -> None:
        assert self.pod(name) is None, f"pod {name} is still there"


def run_story(
    story: Callable[[Story], Coroutine[Any, Any, None]],
    *,
    allowed_faults: dict[str, int] | None = None,
    **settings: Any,
) -> None:
    """Run one story in virtual time on a fresh cluster with simulated nodes node-1 to node-N (3 by default).

    No reader may meet anything it cannot take but for `allowed_faults`.
    """
    allowed_faults = allowed_faults or {}
    clock = ManualClock()
    chosen = Settings(**{"seed": 7, "data_dir": None, **settings})
    loop = VirtualLoop(clock)

    async def main() -> None:
        told = Story(MemoryStore(), chosen, SettableClock(clock))
        await told.start()
        try:
            await story(told)
        finally:
            await told.cluster.stop()
        faults = told.cluster.cache.faults
        assert faults.counts == allowed_faults, faults.set_aside

    try:
        loop.run_until_complete(main())
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()
