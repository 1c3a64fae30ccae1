"""A real `doorman up` process for tests: on a free port, ready when it says so, stopped at the end."""

import base64
import os
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from email.message import Message
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import pytest
import yaml


class Server:
    """`with Server(tmp_path, "--nodes", "1") as server: ...`"""

    def __init__(
        self,
        folder: Path,
        *flags: str,
        in_memory: bool = True,
        place: Sequence[str] | None = None,
        log: IO[str] | None = None,
    ) -> None:
        """`place` is where it keeps everything, when the flags say it; `log` takes what it says on standard error."""
        self.kubeconfig = folder / "kubeconfig"
        if place is None:
            place = ["--in-memory"] if in_memory else ["--data-dir", str(folder / "data")]
        command = [
            sys.executable,
            "-m",
            "doorman",
            "up",
            "--secure-port",
            "0",
            "--kubeconfig-out",
            str(self.kubeconfig),
        ]
        self.process = subprocess.Popen(
            [*command, *place, *flags], stdout=subprocess.PIPE, stderr=log or subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline()
        if not self.ready_line.startswith("ready "):
            self.process.kill()
            raise AssertionError(f"doorman did not start: {self.process.communicate()[1]}")
        self.address = self.ready_line.split()[1]

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.stop()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def children(self, module: str = "") -> list[int]:
        """The processes it has started, or those that run a module."""
        pid = self.process.pid
        every = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(each) for each in every if module in Path(f"/proc/{each}/cmdline").read_text()]

    def stop(self, number: int = signal.SIGTERM, *, seconds_max: float = 10) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds_max)

    def run(self, *command: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """A command with this server's kubeconfig in its environment."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, timeout=60)

    def doorman(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, "-m", "doorman", *arguments, stdin=stdin)

    def start_doorman(self, *arguments: str) -> "subprocess.Popen[str]":
        """One that is not waited for."""
        return subprocess.Popen(
            [sys.executable, "-m", "doorman", *arguments],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kubectl(self, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        if shutil.which("kubectl") is None:
            pytest.skip("no kubectl on PATH")
        cache = self.kubeconfig.parent / "kubectl-cache"
        return self.run("kubectl", "--cache-dir", str(cache), *arguments, stdin=stdin)


def fetch(
    server: Server,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    token: str | None = "",
) -> tuple[int, dict[str, str], bytes]:
    """One plain request. `token`: empty for the administrator's, None for no credentials at all."""
    config = yaml.safe_load(server.kubeconfig.read_text())
    context = ssl.create_default_context(cadata=authority_of(config))
    sent = {"Content-Type": "application/json", **(headers or {})}
    if token is not None:
        sent["Authorization"] = f"Bearer {token or config['users'][0]['user']['token']}"
    request = urllib.request.Request(server.address + path, data=body, method=method, headers=sent)
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.status, _lowered(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _lowered(error.headers), error.read()


def _lowered(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def authority_of(config: dict[str, Any]) -> str:  # a kubeconfig
    """The certificate authority of a kubeconfig's first cluster."""
    return base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
