"""What the attach-detach controller remembers of one node, and forgets with the process as in Kubernetes."""

from collections.abc import Collection

from doorman.base.clock import Instant
from doorman.semantics.volumes.csi_volumes import CsiVolume


class AttachmentMemory:
    """All of it is by the names of attachments: those that are there, and those that its pods want.

    >>> memory = AttachmentMemory()
    >>> memory.unused_since["csi-1"] = 5.0
    >>> memory.keep(own=("csi-1",), wanted=()), memory.is_empty
    (None, False)
    >>> memory.keep(own=(), wanted=()), memory.is_empty
    (None, True)
    """

    __slots__ = ("failures", "known", "sent", "timed", "told", "unused_since")

    def __init__(self) -> None:
        self.known: dict[str, CsiVolume] = {}
        """What is attached by it: a volume may be deleted before it is detached."""
        self.unused_since: dict[str, Instant] = {}
        """Since when it is to go."""
        self.timed: set[str] = set()
        """Of these, those that go at a known time."""
        self.told: set[str] = set()
        """Its pods know that they wait for another node."""
        self.failures: dict[str, str] = {}
        """What pods were told that its driver said."""
        self.sent: dict[str, str] = {}
        """It was asked for and is not there yet; with the name of the volume."""

    @property
    def is_empty(self) -> bool:
        return not (self.known or self.unused_since or self.timed or self.told or self.failures or self.sent)

    def keep(self, own: Collection[str], wanted: Collection[str]) -> None:
        """Forget whatever is about others."""
        for memory in (self.known, self.unused_since):
            for name in [name for name in memory if name not in own]:
                del memory[name]
        self.timed.intersection_update(own)
        self.told.intersection_update(wanted)
        for name in [name for name in self.failures if name not in own or name not in wanted]:
            del self.failures[name]
        for name in [name for name in self.sent if name in own or name not in wanted]:
            del self.sent[name]
