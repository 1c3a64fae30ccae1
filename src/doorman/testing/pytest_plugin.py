"""The pytest plugin: a fixture `doorman`, a fresh cluster for each test that asks for it.

`@pytest.mark.doorman(nodes=5, zones=["a", "b"])` says what it is made of, as `Cluster` takes it; on a class or a module
it is for all tests there. Nothing of the control plane is loaded before the first test that uses it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from doorman.testing.cluster import Cluster


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "doorman(nodes=3, *, zones=(), **flags): what the cluster of the fixture `doorman` is made of"
    )


@pytest.fixture
def doorman(request: pytest.FixtureRequest) -> "Iterator[Cluster]":
    """A cluster on a clock that the test moves."""
    from doorman.testing.cluster import Cluster

    said = request.node.get_closest_marker("doorman")
    with Cluster(*said.args, **said.kwargs) if said is not None else Cluster() as cluster:
        yield cluster
