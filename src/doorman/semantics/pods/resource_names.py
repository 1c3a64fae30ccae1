"""Names of resources: which are Kubernetes' own, which belong to somebody else.

Rules
-----
1. A name without a slash, or with `kubernetes.io/` in it, is Kubernetes' own.
2. Any other name is an extended resource, unless it starts with `requests.` or is no label key with that before it.
3. `deviceclass.resource.kubernetes.io/<class>` stands for devices of that class.
"""

from typing import Final

from doorman.semantics.name_syntax import qualified_name_faults

HUGE_PAGES_PREFIX: Final = "hugepages-"
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
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


def may_be_devices(name: str) -> bool:
    """Rules 2 and 3: a node that does not have such a resource may have devices instead.

    >>> [may_be_devices(name) for name in ("deviceclass.resource.kubernetes.io/gpu", "example.com/gpu", "cpu")]
    [True, True, False]
    """
    return is_extended_resource(name) or name.startswith(DEVICE_CLASS_PREFIX)


def is_overcommit_allowed(name: str) -> bool:
    """Whether a container's limit may exceed its request."""
    return is_native_resource(name) and not name.startswith(HUGE_PAGES_PREFIX)
