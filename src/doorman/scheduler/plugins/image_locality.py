"""ImageLocality: prefer nodes that have the pod's images already, the larger and the more widespread the better."""

from typing import Final

import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import SCORE_MAX, NodeScorer, Scope

MEBIBYTE: Final = 2**20
THRESHOLD_MIN_BYTES: Final = 23 * MEBIBYTE
THRESHOLD_MAX_BYTES: Final = 1000 * MEBIBYTE
"""For one image; a pod with more images reaches the full score with so much for each."""


class ImageLocality:
    name = "ImageLocality"
    score_scope = Scope.NODE

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer | None:
        return _Scorer(cluster, shape.demand.images) if shape.demand.images else None


def spread_size(size_bytes: int, *, nodes_with: int, nodes: int) -> int:
    """What having an image is worth: its size, scaled down while few nodes have it, so that pods do not pile up."""
    return int(size_bytes * (nodes_with / nodes))


def locality_score(total: Column, images: int) -> Column:
    """From summed sizes to 0..100.

    >>> locality_score(np.int64(300 * MEBIBYTE), 1), locality_score(np.int64(150 * MEBIBYTE), 1)
    (np.int64(28), np.int64(12))
    """
    most = THRESHOLD_MAX_BYTES * images
    clamped = np.clip(total, THRESHOLD_MIN_BYTES, most)
    score: Column = SCORE_MAX * (clamped - THRESHOLD_MIN_BYTES) // (most - THRESHOLD_MIN_BYTES)
    return score


class _Scorer:
    """Depends on how many nodes there are and have the images, so every change of that asks it anew: `version`."""

    def __init__(self, cluster: ClusterState, images: tuple[str, ...]) -> None:
        self._cluster = cluster
        self._images = images

    @property
    def version(self) -> tuple[int, int]:
        return self._cluster.images.version, self._cluster.node_count

    def raw(self, rows: Rows) -> Column:
        cluster = self._cluster
        total: Column = np.zeros(cluster.size, dtype=np.int64)
        for name in self._images:
            image = cluster.images.get(name)
            if image is not None:
                worth = spread_size(image.size_bytes, nodes_with=len(image.rows), nodes=cluster.node_count)
                total[image.row_array()] += worth
        picked: Column = total[rows]
        return locality_score(picked, len(self._images))
