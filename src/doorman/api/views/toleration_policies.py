"""The view of a TolerationPolicy (doorman.dev/v1): which tolerations pods of which namespaces may have."""

from typing import Final

from doorman.api.taints import Toleration
from doorman.api.views.meta import LabelSelector, ObjectMeta, View

RESOURCE: Final = "tolerationpolicies.doorman.dev"


class TolerationPolicySpec(View, frozen=True, kw_only=True):
    namespace_selector: LabelSelector = LabelSelector()
    """Empty: every namespace."""
    allow: tuple[Toleration, ...] | None = None
    """None: everything that is not denied."""
    deny: tuple[Toleration, ...] = ()


class TolerationPolicy(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: TolerationPolicySpec = TolerationPolicySpec()
