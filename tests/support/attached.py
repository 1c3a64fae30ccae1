"""A real `doorman scheduler`, `controllers` or `nodes` process for tests: ready when it says so, stopped at the end."""

import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType


class Attached:
    """`with Attached("scheduler", server.kubeconfig) as scheduler: ...`"""

    def __init__(self, component: str, kubeconfig: Path, *flags: str, port: int = 0) -> None:
        serving = ("--bind-address", "127.0.0.1", "--secure-port", str(port))
        command = [sys.executable, "-m", "doorman", component, "--kubeconfig", str(kubeconfig), *serving, *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline()
        if not self.ready_line.startswith("ready "):
            self.process.kill()
            raise AssertionError(f"{component} did not start: {self.process.communicate()[1]}")

    def __enter__(self) -> "Attached":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.stop()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM, *, seconds_max: float = 20) -> int:
        self.send(number)
        return self.process.wait(seconds_max)
