"""The files that others run Doorman with: Containerfile, deploy/, action.yml. It needs no container engine.

Nor a runner: what these files say is run as it stands, in a folder of the test's own.
"""

import base64
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.server import Server, fetch

ROOT = Path(__file__).parents[2]
BASE = ROOT / "deploy" / "base"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
READ_ONLY = """
import errno, os, sys
writable = ("/dev/null", *sys.argv.pop(1).split(":"))
def refuse(event, arguments):
    if event == "open" and not isinstance(arguments[0], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if not path.startswith(writable):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
sys.addaudithook(refuse)
from doorman.__main__ import start
sys.exit(start())
"""
"""Runs `doorman` with a file system that is read-only but in the places named by the first argument."""


def instructions(name: str) -> list[str]:
    """What stands behind a word in the Containerfile, by its last stage last."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in text.splitlines() if line.startswith(f"{name} ")]


def image_command() -> tuple[list[str], dict[str, str]]:
    words = [*json.loads(instructions("ENTRYPOINT")[-1]), *json.loads(instructions("CMD")[-1])]
    return words, dict(word.split("=", 1) for word in shlex.split(instructions("ENV")[-1]))


def unit_command() -> tuple[list[str], dict[str, str]]:
    lines = (ROOT / "deploy" / "systemd" / "doorman.service").read_text().splitlines()
    return shlex.split(next(line for line in lines if line.startswith("ExecStart=")).removeprefix("ExecStart=")), {}


def test_image_is_made_of_files_that_are_there() -> None:
    copied = [words.split()[:-1] for words in instructions("COPY") if not words.startswith("--from")]
    assert [file for files in copied for file in files if not (ROOT / file).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "data", "temporary"),
    [
        pytest.param(image_command(), "/data", "/dev/shm/", id="image"),
        pytest.param(unit_command(), "/var/lib/doorman", "/tmp/", id="unit"),  # PrivateTmp
    ],
)
def test_server_writes_nowhere_else(
    tmp_path: Path, command: tuple[list[str], dict[str, str]], data: str, temporary: str
) -> None:
    """A server of these words starts where everything else is read-only, and ends in order."""
    folder = tmp_path / "volume"
    folder.mkdir()
    words = [word.replace(data, str(folder)) for word in command[0][1:]]
    more = {name: value.replace(data, str(folder)) for name, value in command[1].items() if name != "PATH"}
    with subprocess.Popen(
        [sys.executable, "-c", READ_ONLY, f"{folder}/:{temporary}", *words, "--secure-port", "0"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        _, told = server.communicate(timeout=60)
    assert line.startswith("ready "), told
    assert f"kubeconfig={folder}" in line
    assert server.returncode == 0, told


def documents() -> Iterator[dict[str, Any]]:
    for file in yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]:
        yield from yaml.safe_load_all((BASE / file).read_text())


PATHS = {
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
    "Deployment": "/apis/apps/v1/namespaces/kube-system/deployments",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}


@pytest.mark.slow
def test_pods_of_the_base_have_the_rights_that_their_arguments_need(tmp_path: Path) -> None:
    with Server(tmp_path, "--components=false") as server:
        for name in ("taint-expiry-controller", "dedicated-nodes-controller"):  # no other API server has these
            assert fetch(server, "DELETE", f"{PATHS['ClusterRoleBinding']}/system:controller:{name}")[0] == 200
        for document in documents():
            path = f"{PATHS[document['kind']]}?fieldValidation=Strict"
            status, _, content = fetch(server, "POST", path, body=json.dumps(document).encode())
            assert status == 201, content
        for pod in [found["spec"]["template"]["spec"] for found in documents() if found["kind"] == "Deployment"]:
            path = f"{PATHS['ServiceAccount']}/{pod['serviceAccountName']}/token"
            token = json.loads(fetch(server, "POST", path, body=b'{"spec": {}}')[2])["status"]["token"]
            config = yaml.safe_load(server.kubeconfig.read_text())
            config["users"][0]["user"] = {"token": token}
            (tmp_path / "pod.conf").write_text(yaml.safe_dump(config))
            authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
            (tmp_path / "ca.crt").write_bytes(base64.b64decode(authority))
            words = [word.replace(ACCOUNT, str(tmp_path)) for word in pod["containers"][0]["args"]]
            checked = server.doorman(*words, "--kubeconfig", str(tmp_path / "pod.conf"), "--check-access")
            assert checked.stdout == f"{words[0]}: all rights are there\n", checked.stderr


def action_step(number: int, folder: Path, **environment: str) -> dict[str, str]:
    """Runs a step of the action as a runner does; what it leaves for the steps that follow."""
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][number]
    files = {name: folder / f"{name}-{number}" for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_ENV")}
    for file in files.values():
        file.touch()
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "RUNNER_TEMP": str(folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            **{name: str(file) for name, file in files.items()},
            **environment,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return {name: file.read_text() for name, file in files.items()}


def executable(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(("#!/usr/bin/env bash", "set -e", *lines, "")))
    file.chmod(0o755)
    return file


@pytest.mark.slow
def test_action_starts_a_cluster_and_leaves_python_alone(tmp_path: Path) -> None:
    """Nothing is fetched: a python that makes no environment, and a pip that looks whether files are there."""
    made = tmp_path / "made"
    made.mkdir()
    executable(made / "doorman", f'exec {shlex.quote(sys.executable)} -m doorman "$@"')
    executable(made / "pip", 'for last; do :; done; test -e "$last"')
    executable(made / "python", "exit 1")
    python = executable(tmp_path / "python", 'test "$1 $2" = "-m venv"', f'mkdir -p "$3"; cp -r {made} "$3/bin"')
    added = action_step(1, tmp_path, PYTHON=str(python))["GITHUB_PATH"].strip()
    assert [file.name for file in Path(added).iterdir()] == ["doorman"], "python and pip stay the workflow's own"
    environment = {
        "PATH": f"{added}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "NAME": "a",
        "ARGUMENTS": "--nodes 2",
    }
    try:
        left = action_step(2, tmp_path, **environment)
        kubeconfig = left["GITHUB_OUTPUT"].strip().removeprefix("kubeconfig=")
        assert left["GITHUB_ENV"] == f"KUBECONFIG={kubeconfig}\n"
        command = [f"{added}/doorman", "get", "nodes", "-o", "name", "--kubeconfig", kubeconfig]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert shown.stdout == "node/node-1\nnode/node-2\n", shown.stderr
    finally:
        down = [f"{added}/doorman", "down", "--name", "a"]
        subprocess.run(down, env={**environment, "HOME": str(tmp_path)}, check=True, capture_output=True, timeout=60)
