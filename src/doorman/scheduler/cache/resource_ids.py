"""Resource names as small numbers, so that amounts can live in columns."""

from typing import Final

from doorman.semantics.pods.pod_resources import CPU, EPHEMERAL_STORAGE, MEMORY

CPU_INDEX: Final = 0
MEMORY_INDEX: Final = 1
EPHEMERAL_STORAGE_INDEX: Final = 2


class ResourceIds:
    """
    >>> names = ResourceIds()
    >>> names.index("memory"), names.index("example.com/gpu"), names.name(3)
    (1, 3, 'example.com/gpu')
    """

    def __init__(self) -> None:
        self._names = [CPU, MEMORY, EPHEMERAL_STORAGE]
        self._index = {name: index for index, name in enumerate(self._names)}

    def __len__(self) -> int:
        return len(self._names)

    def index(self, name: str) -> int:
        found = self._index.get(name)
        if found is None:
            found = self._index[name] = len(self._names)
            self._names.append(name)
        return found

    def name(self, index: int) -> str:
        return self._names[index]
