"""The view of a storage class."""

from typing import Final

from doorman.api.views.meta import ObjectMeta, View

STORAGE_CLASSES: Final = "storageclasses.storage.k8s.io"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


class TopologySelectorRequirement(View, frozen=True, kw_only=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(View, frozen=True, kw_only=True):
    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allow_volume_expansion: bool | None = None
    mount_options: tuple[str, ...] = ()
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
