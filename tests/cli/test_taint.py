"""`doorman taint` against recorded kubectl: every recorded `kubectl taint` command, with the same words."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.server import Server, fetch

CASES = Path(__file__).parents[1] / "conformance" / "cases" / "kubectl"


def recorded() -> Iterator[Any]:
    for file in sorted(CASES.glob("taint-*.json")):
        for case in json.loads(file.read_text()):
            first = case["steps"][0]
            if first["do"] == "kubectl" and first["args"][0] == "taint" and _is_ours(first["args"]):
                yield pytest.param(case, id=f"{file.stem}: {case['name']}")


def _is_ours(args: list[str]) -> bool:
    """Formats and flags that kubectl alone has are left out."""
    text = " ".join(args)
    foreign = ("template", "jsonpath", "kyaml", "--show-managed", "--dry-run ", "--validate", "-h", "--help", "-o")
    return not any(word in text for word in foreign)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--nodes", "0") as running:
        yield running


@pytest.fixture
def nodes(server: Server, request: pytest.FixtureRequest) -> Iterator[None]:
    made = []
    for node in request.getfixturevalue("case").get("nodes", []):
        metadata = {"name": node["name"], "labels": node.get("labels", {})}
        body = {"metadata": metadata, "spec": {"taints": node.get("taints", [])}}
        assert fetch(server, "POST", "/api/v1/nodes", body=json.dumps(body).encode())[0] == 201
        # Admission's not-ready taint goes, as a controller takes it off a node that is well.
        patch = json.dumps({"spec": {"taints": node.get("taints", [])}}).encode()
        headers = {"Content-Type": "application/merge-patch+json"}
        fetch(server, "PATCH", f"/api/v1/nodes/{node['name']}", body=patch, headers=headers)
        made.append(node["name"])
    yield
    for name in made:
        fetch(server, "DELETE", f"/api/v1/nodes/{name}")


@pytest.mark.parametrize("case", list(recorded()))
@pytest.mark.usefixtures("nodes")
def test_same_words_and_status_as_kubectl(server: Server, case: dict[str, Any]) -> None:
    step = case["steps"][0]
    done = server.doorman(*step["args"])
    expected = step.get("expect", {"rc": 0})
    for name, found in (("rc", done.returncode), ("stdout", done.stdout), ("stderr", done.stderr)):
        wanted = expected.get(name)
        if isinstance(wanted, str):
            wanted = wanted.replace("kubectl taint -h", "doorman taint -h")
        if isinstance(wanted, (str, int)):
            assert found == wanted, name
