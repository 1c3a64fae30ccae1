"""From `kubectl apply` to `kubectl apply --server-side` and on, with the real kubectl."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.server import Server

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]


def config_map(**data: str) -> str:
    metadata = {"name": "c", "namespace": "default"}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def test_what_was_applied_before_is_in_nobodys_way(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0") as server:

        def owners() -> list[tuple[str, str]]:
            found: Any = json.loads(server.kubectl("get", "cm", "c", "-o", "json", "--show-managed-fields").stdout)
            return [(entry["manager"], entry["operation"]) for entry in found["metadata"]["managedFields"]]

        assert server.kubectl("apply", "-f", "-", stdin=config_map(a="1", b="1")).stdout == "configmap/c created\n"
        assert owners() == [("kubectl-client-side-apply", "Update")]
        taken = server.kubectl("apply", "--server-side", "-f", "-", stdin=config_map(a="2", b="1"))
        assert (taken.stdout, taken.stderr) == ("configmap/c serverside-applied\n", "")
        assert owners() == [("kubectl-last-applied", "Apply"), ("kubectl", "Apply")]
        patched = server.kubectl("patch", "cm", "c", "--field-manager=other", "-p", '{"data": {"a": "3"}}')
        assert patched.returncode == 0, patched.stderr
        refused = server.kubectl("apply", "--server-side", "-f", "-", stdin=config_map(a="4", b="1"))
        assert refused.returncode == 1
        assert 'Apply failed with 1 conflict: conflict with "other" using v1: .data.a' in refused.stderr
