"""A scheduler's desk that knows volumes."""

from typing import Any

from doorman.api.views.storage.csi import CSI_NODES
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from support.scheduling import Desk
from support.volumes import ZONE


class VolumeDesk(Desk):
    """Three nodes, one a zone."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.known: dict[tuple[str, str], Any] = {}
        for zone in ("a", "b", "c"):
            self.node(f"{zone}-1", labels={ZONE: zone})

    def put(self, resource: str, view: Any) -> None:
        key = (resource, view.metadata.name)
        self.scheduler.object_changed(resource, self.known.get(key), view, self.now)
        self.known[key] = view

    def take(self, resource: str, name: str) -> None:
        self.scheduler.object_changed(resource, self.known.pop((resource, name)), None, self.now)

    def claim(self, view: Any) -> None:
        self.put(CLAIMS, view)

    def volume(self, view: Any) -> None:
        self.put(VOLUMES, view)

    def storage_class(self, view: Any) -> None:
        self.put(STORAGE_CLASSES, view)

    def csi_node(self, view: Any) -> None:
        self.put(CSI_NODES, view)

    def tried(self, name: str) -> int:
        """How often, backoff being over."""
        self.advance(20)
        return self.attempts.count(name)
