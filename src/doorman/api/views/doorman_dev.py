"""Views of Doorman's own kinds (doorman.dev/v1): dedicated nodes and toleration policies."""

from typing import Final

from doorman.api.taints import Effect, Taint, Toleration
from doorman.api.views.meta import LabelSelector, ObjectMeta, View

DEDICATED_NODES: Final = "dedicatednodes.doorman.dev"
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


TOLERATION_POLICIES: Final = "tolerationpolicies.doorman.dev"


class TolerationPolicySpec(View, frozen=True, kw_only=True):
    namespace_selector: LabelSelector = LabelSelector()
    """Empty: every namespace."""
    allow: tuple[Toleration, ...] | None = None
    """None: everything that is not denied."""
    deny: tuple[Toleration, ...] = ()


class TolerationPolicy(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: TolerationPolicySpec = TolerationPolicySpec()
