"""Until which revision the past may be read page by page: five minutes back, as etcd's compaction leaves it.

What there was is known longer here, but a client whose pages take that long is told so, as Kubernetes does, and not
shown what has long been something else. Revisions are noted when somebody reads a page, not by a timer: who reads none
has nothing to be told.

    noted   10:00:00 @ 500    10:00:10 @ 507   ...   10:05:10: 507 and later may be read
"""

from collections import deque
from typing import Final

from doorman.base.clock import Clock, Instant

KEPT_SECONDS: Final = 300.0
NOTE_SECONDS: Final = 10.0


class Compaction:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted: deque[tuple[Instant, int]] = deque()
        self._oldest = 0

    def oldest(self, revision: int) -> int:
        """The oldest revision that may be read now, which is at `revision`."""
        now = self._clock.now()
        if not self._noted or now - self._noted[-1][0] >= NOTE_SECONDS:
            self._noted.append((now, revision))
        while self._noted and now - self._noted[0][0] >= KEPT_SECONDS:
            self._oldest = self._noted.popleft()[1]
        return self._oldest
