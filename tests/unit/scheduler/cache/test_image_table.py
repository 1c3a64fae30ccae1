"""Which nodes have which images, and when that changed."""

from doorman.scheduler.cache.image_table import ImageTable
from support.scheduling import make_node


def test_image_knows_its_rows_and_the_size_that_the_first_node_said() -> None:
    table = ImageTable()
    table.set_node(0, make_node("a", images={"i": 10, "j": 5}))
    table.set_node(2, make_node("b", images={"i": 99}))
    image = table.get("i")
    assert image is not None
    assert (image.row_array().tolist(), image.size_bytes) == ([0, 2], 10)
    assert table.get("nope") is None


def test_image_that_no_node_has_any_more_is_forgotten() -> None:
    table = ImageTable()
    table.set_node(0, make_node("a", images={"i": 10}))
    table.set_node(1, make_node("b", images={"i": 10}))
    table.set_node(0, make_node("a", images={"j": 1}))
    image = table.get("i")
    assert image is not None
    assert image.row_array().tolist() == [1]
    table.clear_node(1)
    assert table.get("i") is None


def test_version_changes_only_with_images() -> None:
    table = ImageTable()
    table.set_node(0, make_node("a", images={"i": 10}))
    seen = table.version
    table.set_node(0, make_node("a", images={"i": 10}, labels={"other": "label"}))
    table.set_node(1, make_node("b"))
    table.clear_node(7)
    assert table.version == seen
    table.set_node(1, make_node("b", images={"i": 10}))
    assert table.version > seen
    seen = table.version
    table.clear_node(1)
    assert table.version > seen
