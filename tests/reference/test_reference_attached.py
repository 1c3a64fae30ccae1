"""Suites of the kit on a kube-apiserver whose scheduler and controllers are Doorman's."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference.both_servers import ALL_OF_THE_KIT, BINARY, KubeApiserver
from support.attached import Attached
from support.etcd import EtcdMember

KIT = Path(__file__).parents[1] / "conformance"
SUITES = ("validation", "kubectl", "admission")
UNLIMITED = "--kube-api-qps=0"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("attached")
    with EtcdMember(folder, "--unsafe-no-fsync") as member:
        server = KubeApiserver(folder / "reference", member.url, *ALL_OF_THE_KIT)
        try:
            server.wait()
            found = folder / "kubeconfig"
            found.write_text(server.kubeconfig())
            authority = f"--root-ca-file={folder / 'reference' / 'certs' / 'apiserver.crt'}"
            with Attached("controllers", found, UNLIMITED, authority), Attached("scheduler", found, UNLIMITED):
                yield found
        finally:
            server.stop()


@pytest.mark.parametrize("suite", SUITES)
def test_kit_passes_with_components_of_ours(kubeconfig: Path, suite: str) -> None:
    command = [sys.executable, str(KIT / "kit"), "--kubeconfig", str(kubeconfig), "--timeout-scale", "3"]
    command += ["--kubectl", str(BINARY.with_name("kubectl"))]
    found = subprocess.run([*command, str(KIT / "cases" / suite)], stdout=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 0, found.stdout
