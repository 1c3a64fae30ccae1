"""Names of resources: which are Kubernetes' own, which belong to somebody else.

Rules
-----
1. A name without a slash, or with `kubernetes.io/` in it, is Kubernetes' own.
2. Any other name is an extended resource, unless it starts with `requests.` or is no label key with that before it.
"""

from typing import Final

from doorman.semantics.name_syntax import qualified_name_faults

HUGE_PAGES_PREFIX: Final = "hugepages-"
_OWN: Final = "kubernetes.io/"


def is_native_resource(name: str) -> bool:
    """Rule 1."""
    return "/" not in name or _OWN in name


def is_extended_resource(name: str) -> bool:
    """Rule 2.

    >>> [is_extended_resource(name) for name in ("example.com/gpu", "cpu", "node.kubernetes.io/x", "requests.a.b/c")]
    [True, False, False, False]
    """
    if is_native_resource(name) or name.startswith("requests."):
        return False
    return not qualified_name_faults(f"requests.{name}")


def is_overcommit_allowed(name: str) -> bool:
    """Whether a container's limit may exceed its request."""
    return is_native_resource(name) and not name.startswith(HUGE_PAGES_PREFIX)
