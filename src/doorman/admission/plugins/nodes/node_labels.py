"""Which labels a kubelet may not put on its own node.

Rules
-----
1. Anything under `node-restriction.kubernetes.io` or a domain below it is forbidden.
2. Anything else under `kubernetes.io`, `k8s.io` or a domain below them is forbidden, except a list of well-known labels
   and the domains `kubelet.kubernetes.io` and `node.kubernetes.io` with those below them.
3. Only labels that change are looked at.
"""

from collections.abc import Mapping
from typing import Final

_RESTRICTED: Final = "node-restriction.kubernetes.io"
_RESERVED: Final = ("kubernetes.io", "k8s.io")
_OPEN: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_WELL_KNOWN: Final = frozenset(
    {
        "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    }
)  # fmt: skip


def decide_forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """The changed labels that are not the kubelet's to change, sorted."""
    changed = {key for key in {**new, **old} if new.get(key) != old.get(key)}
    return sorted(key for key in changed if is_forbidden_label(key))


def is_forbidden_label(key: str) -> bool:
    """
    >>> is_forbidden_label("example.com/a"), is_forbidden_label("topology.kubernetes.io/zone")
    (False, False)
    >>> is_forbidden_label("a.node-restriction.kubernetes.io/x"), is_forbidden_label("k8s.io/x")
    (True, True)
    """
    domain = key.partition("/")[0] if "/" in key else ""
    if _is_within(domain, _RESTRICTED):
        return True
    if not any(_is_within(domain, reserved) for reserved in _RESERVED) or key in _WELL_KNOWN:
        return False
    return not any(_is_within(domain, open_domain) for open_domain in _OPEN)


def _is_within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")
