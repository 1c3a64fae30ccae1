"""`doorman node` for many nodes at once."""

from collections.abc import Iterator

import pytest

from support.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("fleet"), "--nodes", "2") as running:
        yield running


def annotations(server: Server, selector: str) -> list[str]:
    shown = "jsonpath={range .items[*]}{.metadata.name}={.metadata.annotations.doorman\\.dev/silent};{end}"
    return server.kubectl("get", "nodes", "-l", selector, "-o", shown).stdout.rstrip(";").split(";")


@pytest.mark.kubectl
def test_nodes_are_added_failed_and_recovered_together(server: Server) -> None:
    added = server.doorman("node", "add", "--count", "3", "--zone", "b", "--capacity", "nvidia.com/gpu=8")
    assert added.stdout == "node/node-3 added\nnode/node-4 added\nnode/node-5 added\n", added.stderr
    capacity = server.kubectl("get", "node", "node-4", "-o", r"jsonpath={.status.capacity.nvidia\.com/gpu}")
    assert capacity.stdout == "8"
    more = server.doorman("node", "add", "--count", "2", "--prefix", "gpu-", "--label", "kind=gpu", "--cpu", "32")
    assert more.stdout == "node/gpu-1 added\nnode/gpu-2 added\n"

    failed = server.doorman("node", "fail", "--zone", "b")
    assert failed.stdout == "node/node-3 failed\nnode/node-4 failed\nnode/node-5 failed\n"
    assert annotations(server, "topology.kubernetes.io/zone=b") == ["node-3=true", "node-4=true", "node-5=true"]
    assert server.doorman("node", "fail", "-l", "kind=gpu").stdout == "node/gpu-1 failed\nnode/gpu-2 failed\n"
    recovered = server.doorman("node", "recover", "--zone", "b")
    assert recovered.stdout == "node/node-3 recovered\nnode/node-4 recovered\nnode/node-5 recovered\n"
    assert annotations(server, "topology.kubernetes.io/zone=b") == ["node-3=", "node-4=", "node-5="]
    assert annotations(server, "kind=gpu") == ["gpu-1=true", "gpu-2=true"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["add"], "want names, or --count", id="nothing-to-add"),
        pytest.param(["add", "x", "--count", "2"], "want names, or --count", id="both"),
        pytest.param(["add", "x", "--capacity", "gpu"], "--capacity gpu: want KEY=VALUE", id="capacity-without-amount"),
        pytest.param(["add", "x", "--capacity", "a.b/gpu=many"], 'capacity.a.b/gpu: "many"', id="capacity"),
        pytest.param(["fail"], "no node is named", id="nothing-to-fail"),
        pytest.param(["fail", "node-1", "--zone", "b"], "names exclude -l and --zone", id="names-and-zone"),
        pytest.param(["recover", "--zone", "nowhere"], "no node has topology.kubernetes.io/zone=nowhere", id="zone"),
    ],
)
def test_bad_input_changes_nothing_and_exits_2(server: Server, arguments: list[str], told: str) -> None:
    done = server.doorman("node", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""
