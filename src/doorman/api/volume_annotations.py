"""Annotations by which the scheduler, the binder and provisioners tell each other of volumes and claims."""

from typing import Final

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""On a claim: both sides of the binding are written."""

BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""Nobody chose the other side by name: it may be taken back."""

PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""On a claim: the scheduler has chosen this node for its first consumer."""

STORAGE_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""Of a class whose volumes are made by hand."""
