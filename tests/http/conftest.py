"""What several modules of this folder ask."""

from collections.abc import Iterator

import pytest

from support.two_servers import TwoServers, two_servers


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoServers]:
    with two_servers(tmp_path_factory.mktemp("servers")) as both:
        yield both
