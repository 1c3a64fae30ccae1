"""What is to be written about a pod's volumes before the pod is bound.

>>> PodVolumeBindings().is_empty
True
"""

import msgspec

from doorman.api.views.storage.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from doorman.scheduler.config.scheduler_config import BINDING_TIMEOUT_SECONDS


class StaticBinding(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that exists is to be the claim's."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


class PodVolumeBindings(msgspec.Struct, frozen=True, kw_only=True):
    static: tuple[StaticBinding, ...] = ()
    provisioned: tuple[PersistentVolumeClaim, ...] = ()
    """Claims for which a volume is to be made that can be used from the chosen node."""
    timeout_seconds: int = BINDING_TIMEOUT_SECONDS
    """How long the pod waits for all of them."""

    @property
    def is_empty(self) -> bool:
        return not self.static and not self.provisioned
