"""TolerationPolicy: refuses pods whose tolerations a policy of their namespace does not let pass.

The rules are those of `doorman.semantics.taints.toleration_policy`. Policies are objects of the cluster, so whoever
owns a namespace, and all annotations in it, cannot change them. Tolerations a stored pod has already are not looked at
again.
"""

from collections.abc import Sequence
from typing import Final

from doorman.admission.plugin_contract import CREATE_AND_UPDATE, Attributes, ClusterReader, Interest, refusal
from doorman.api.machinery.label_selectors import matches
from doorman.api.taints import Toleration
from doorman.api.views.doorman_dev import TOLERATION_POLICIES, TolerationPolicy
from doorman.api.views.meta import to_view
from doorman.base.clock import Instant
from doorman.semantics.library import to_toleration
from doorman.semantics.taints.toleration_policy import Denied, decide_policy, describe

INTERESTS: Final = (Interest(resource="pods", operations=CREATE_AND_UPDATE),)


def decide_objection(policy: TolerationPolicy, tolerations: Sequence[Toleration]) -> str:
    """Empty when there is none."""
    found = decide_policy(tolerations, allow=policy.spec.allow, deny=policy.spec.deny)
    if found is None:
        return ""
    head = f'TolerationPolicy "{policy.metadata.name}" '
    if isinstance(found, Denied):
        return f'{head}denies toleration "{describe(found.toleration)}" (it may tolerate "{describe(found.rule)}")'
    return f'{head}does not allow toleration "{describe(found.toleration)}"'


class TolerationPolicyPlugin:
    name = "TolerationPolicy"
    interests: Sequence[Interest] = INTERESTS

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        policies = cluster.list(TOLERATION_POLICIES)
        if not policies:
            return
        old = ((attributes.old or {}).get("spec") or {}).get("tolerations") or ()
        new = ((attributes.obj or {}).get("spec") or {}).get("tolerations") or ()
        added = [to_toleration(one) for one in new if one not in old]
        if not added:
            return
        namespace = cluster.get("namespaces", "", attributes.namespace) or {"metadata": {}}
        labels = namespace["metadata"].get("labels") or {}
        for doc in policies:
            policy = to_view(doc, TolerationPolicy)
            if matches(policy.spec.namespace_selector, labels) and (why := decide_objection(policy, added)):
                raise refusal(attributes, why)
