"""The kit's suite of HTTP on a Doorman and on a kube-apiserver over one etcd, while others write through both."""

import itertools
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reference.both_servers import ALL_OF_THE_KIT, Both, both_over
from support.etcd import EtcdMember

KIT = Path(__file__).parents[1] / "conformance"
MAPS = "/api/v1/namespaces/default/configmaps"


class Load(threading.Thread):
    """Makes objects at one server, changes them at the other, deletes them at the first."""

    def __init__(self, both: Both, maker: int) -> None:
        super().__init__()
        self._both = both
        self._maker = maker
        self._ends = threading.Event()
        self.done = 0
        self.refused: list[Any] = []

    def run(self) -> None:
        for number in itertools.count():
            name = f"load-{self._maker}-{number}"
            self._ask(self._maker, "POST", MAPS, {"metadata": {"name": name}, "data": {"a": "b"}})
            self._ask(1 - self._maker, "PATCH", f"{MAPS}/{name}", {"data": {"c": "d"}})
            self._ask(self._maker, "DELETE", f"{MAPS}/{name}")
            if self._ends.is_set():
                return

    def end(self) -> None:
        self._ends.set()
        self.join()

    def _ask(self, number: int, method: str, path: str, body: Any = None) -> None:
        status, answer = self._both.ask(number, method, path, body)
        self.done += 1
        if status not in (200, 201):
            self.refused.append((number, method, path, answer))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("both")
    with (
        EtcdMember(folder, "--unsafe-no-fsync") as member,
        both_over(folder, member, *ALL_OF_THE_KIT, components=True) as servers,
    ):
        yield servers


@pytest.mark.parametrize("number", [pytest.param(0, id="doorman"), pytest.param(1, id="kube-apiserver")])
def test_kit_passes_while_others_write(both: Both, number: int, tmp_path: Path) -> None:
    kubeconfig = both.doorman.kubeconfig
    if number:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(both.reference.kubeconfig())
    loads = [Load(both, maker) for maker in (0, 1)]
    for load in loads:
        load.start()
    command = [sys.executable, str(KIT / "kit"), "--kubeconfig", str(kubeconfig), "--timeout-scale", "3"]
    try:
        found = subprocess.run([*command, str(KIT / "cases" / "http")], stdout=subprocess.PIPE, text=True, check=False)
    finally:
        for load in loads:
            load.end()
    assert found.returncode == 0, found.stdout
    assert [load.refused for load in loads] == [[], []]
    assert all(load.done for load in loads)
