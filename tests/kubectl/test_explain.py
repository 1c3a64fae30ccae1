"""`kubectl explain`: of every kind that is served, and with words for the fields this is about."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from doorman.api.kinds import Kind, builtin_kinds
from support.server import Server

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("explain")
    with Server(folder, "--nodes", "0") as running:
        yield running


def test_every_served_kind_is_explained(server: Server) -> None:
    def explain(kind: Kind) -> str:
        done = server.kubectl("explain", kind.resource, f"--api-version={kind.group_version}")
        if done.returncode or f"KIND:       {kind.kind}\n" not in done.stdout:
            return f"{kind.group_version} {kind.resource}: {done.stderr or done.stdout}"
        return ""

    with ThreadPoolExecutor(2) as pool:
        faults = [fault for fault in pool.map(explain, builtin_kinds().rows) if fault]
    assert faults == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        pytest.param("pod.spec.tolerations.tolerationSeconds", "how long the pod stays", id="toleration-seconds"),
        pytest.param("pod.spec.tolerations.operator", "Gt, Lt", id="operator"),
        pytest.param("node.spec.taints.effect", "NoExecute: none is placed here", id="effect"),
        pytest.param("node.spec.taints", "replaced as a whole", id="taints"),
        pytest.param("deployment.spec.template.spec.tolerations", "<[]Toleration>", id="in-a-template"),
        pytest.param("dedicatednodes.spec.effect", "NoSchedule or NoExecute", id="our-own"),
    ],
)
def test_explanation_says(server: Server, path: str, said: str) -> None:
    done = server.kubectl("explain", path)
    assert done.returncode == 0, done.stderr
    assert said in " ".join(done.stdout.split())
