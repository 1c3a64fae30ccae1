"""What a snapshot holds: the kinds that decide where pods are, when they leave and where they go.

Never Secrets, and never what ConfigMaps hold. Of leases only those of nodes: they are signs of life.
"""

from collections.abc import Iterator
from typing import Final

from doorman.api.kinds import Kind, builtin_kinds
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE

DECIDING: Final = (
    "namespaces", "nodes", "pods", "replicationcontrollers", "services", "serviceaccounts",
    "persistentvolumes", "persistentvolumeclaims", "resourcequotas", "limitranges",
    "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "controllerrevisions.apps",
    "jobs.batch", "cronjobs.batch", "poddisruptionbudgets.policy", "priorityclasses.scheduling.k8s.io",
    "storageclasses.storage.k8s.io", "csinodes.storage.k8s.io", "csidrivers.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io", "volumeattachments.storage.k8s.io", "runtimeclasses.node.k8s.io", LEASES,
    "resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io", "resourceslices.resource.k8s.io",
    "deviceclasses.resource.k8s.io", "devicetaintrules.resource.k8s.io",
    "dedicatednodes.doorman.dev", "tolerationpolicies.doorman.dev",
)  # fmt: skip
"""By group resource."""


def deciding_kinds() -> Iterator[Kind]:
    """In their preferred versions."""
    for name in DECIDING:
        found = builtin_kinds().find(name)
        if found is not None:
            yield found


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The row of an object of a snapshot; None when it decides nothing."""
    group, _, version = api_version.rpartition("/")
    found = builtin_kinds().of_kind(group, version, kind)
    return found if found is not None and found.storage in DECIDING else None


def is_wanted(kind: Kind, namespace: str) -> bool:
    """Whether an object of a kind that decides is wanted: not the leases by which leaders are elected."""
    return kind.storage != LEASES or namespace == NODE_LEASE_NAMESPACE
