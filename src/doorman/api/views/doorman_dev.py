"""The view of DedicatedNodes (doorman.dev/v1): nodes that are for some namespaces or groups and nobody else."""

from typing import Final

from doorman.api.taints import Effect, Taint
from doorman.api.views.meta import LabelSelector, ObjectMeta, View

RESOURCE: Final = "dedicatednodes.doorman.dev"
TAINT_KEY: Final = "doorman.dev/dedicated"


class DedicatedNodesSpec(View, frozen=True, kw_only=True):
    node_selector: LabelSelector = LabelSelector()
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    groups: tuple[str, ...] = ()
    effect: str = Effect.NO_SCHEDULE
    exempt_namespaces: tuple[str, ...] = ("kube-system",)


class DedicatedNodes(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DedicatedNodesSpec = DedicatedNodesSpec()

    @property
    def taint(self) -> Taint:
        """What its nodes carry."""
        return Taint(key=TAINT_KEY, value=self.metadata.name, effect=self.spec.effect)
