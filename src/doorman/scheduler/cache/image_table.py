"""Which nodes have which container images."""

import numpy as np

from doorman.api.views.nodes import Node
from doorman.scheduler.cache.node_columns import RowArray


class Image:
    __slots__ = ("_array", "rows", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        """As the first node that had it said."""
        self.rows: dict[int, None] = {}
        self._array: RowArray | None = None

    def add(self, row: int) -> None:
        self.rows[row] = None
        self._array = None

    def discard(self, row: int) -> None:
        self.rows.pop(row, None)
        self._array = None

    def row_array(self) -> RowArray:
        if self._array is None:
            self._array = np.fromiter(self.rows, dtype=np.intp, count=len(self.rows))
        return self._array


class ImageTable:
    def __init__(self) -> None:
        self.version = 0
        """Changes when any image appears on or disappears from a node."""
        self._images: dict[str, Image] = {}
        self._names_on: dict[int, tuple[str, ...]] = {}

    def set_node(self, row: int, node: Node) -> None:
        sizes = {name: image.size_bytes for image in node.status.images for name in image.names}
        names = tuple(sizes)
        if names == self._names_on.get(row, ()):
            return
        self.clear_node(row)
        for name, size_bytes in sizes.items():
            image = self._images.get(name)
            if image is None:
                image = self._images[name] = Image(size_bytes)
            image.add(row)
        self._names_on[row] = names
        self.version += 1

    def clear_node(self, row: int) -> None:
        for name in self._names_on.pop(row, ()):
            image = self._images[name]
            image.discard(row)
            if not image.rows:
                del self._images[name]
            self.version += 1

    def get(self, name: str) -> Image | None:
        return self._images.get(name)
