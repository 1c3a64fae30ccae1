"""ImageLocality: the specification's figures."""

import numpy as np
import pytest

from doorman.scheduler.plugins.image_locality import MEBIBYTE, locality_score, spread_size
from support.scheduling import Desk


@pytest.mark.parametrize(
    ("mebibytes", "images", "expected"),
    [(300, 1, 28), (150, 1, 12), (10, 1, 0), (23, 1, 0), (5000, 1, 100), (1000, 2, 49)],
    ids=["example", "half-the-nodes", "below-threshold", "at-threshold", "above-threshold", "two-images"],
)
def test_locality_score(mebibytes: int, images: int, expected: int) -> None:
    assert locality_score(np.int64(mebibytes * MEBIBYTE), images) == expected


def test_image_on_few_nodes_is_worth_less() -> None:
    assert spread_size(300, nodes_with=1, nodes=2) == 150
    assert spread_size(100, nodes_with=1, nodes=3) == 33


def test_scores_follow_images_that_come_and_go() -> None:
    desk = Desk()
    desk.node("n1")
    desk.node("n2")
    desk.pod("p", schedulingGates=[{"name": "hold"}])

    def scores() -> list[int]:
        found = desk.scheduler.explain(desk.pods["p"], desk.now)
        return [next(s.score for s in node.scores if s.plugin == "ImageLocality") for node in found.nodes]

    assert scores() == [0, 0]
    desk.node("n1", images={"registry.example/app:1": 300 * MEBIBYTE})
    assert scores() == [12, 0]
    desk.node("n2", images={"registry.example/app:1": 300 * MEBIBYTE})
    assert scores() == [28, 28]
    desk.remove_node("n2")
    assert scores() == [28]
