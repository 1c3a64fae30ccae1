"""A real etcd member for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.etcd import EtcdMember


@pytest.fixture(scope="session")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdMember]:
    folder: Path = tmp_path_factory.mktemp("etcd")
    with EtcdMember(folder, "--unsafe-no-fsync") as running:
        yield running
