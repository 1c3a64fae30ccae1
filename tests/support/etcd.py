"""Real etcd members for tests: from the locked set-up, on free ports, gone with their directory at the end."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

BINARY: Final = Path(os.environ.get("ETCD") or Path(sys.executable).parent / "etcd")
"""Another one can be tried: ETCD=/usr/bin/etcd."""
READY_SECONDS_MAX: Final = 30.0


class EtcdMember:
    """`with EtcdMember(tmp_path) as member: ... member.url`"""

    def __init__(
        self, folder: Path, *flags: str, name: str = "m1", ports: tuple[int, int] | None = None, scheme: str = "http"
    ) -> None:
        self.folder = folder
        self.name = name
        client, peer = ports or free_ports(2)
        self.url, self.peer_url = f"{scheme}://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        self._flags = flags
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, members: "Sequence[EtcdMember]" = (), token: str = "doorman-tests") -> None:
        """With its data, if it was there before."""
        cluster = ",".join(f"{one.name}={one.peer_url}" for one in (members or (self,)))
        command = [
            str(BINARY), "--name", self.name, "--data-dir", str(self.folder / self.name),
            "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
            "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
            "--initial-cluster", cluster, "--initial-cluster-token", token, "--log-level", "error",
            "--heartbeat-interval", "100", "--election-timeout", "1000", *self._flags,
        ]  # fmt: skip
        told = Path(tempfile.mkdtemp(prefix="etcd-")) / "notify"  # short: a socket's path has a limit
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(str(told))
        self._notified.settimeout(READY_SECONDS_MAX)
        environment = {**os.environ, "NOTIFY_SOCKET": str(told)}
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)

    def wait(self) -> None:
        """Until it serves, which it tells as it would tell systemd."""
        with self._notified:
            while b"READY=1" not in self._notified.recv(1024):
                pass

    def signal(self, number: int) -> None:
        """SIGSTOP has stopped it when this returns."""
        assert self.process is not None
        os.kill(self.process.pid, number)
        if number == signal.SIGSTOP:
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # until then it may answer

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> "EtcdMember":
        self.start()
        self.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@contextlib.contextmanager
def etcd_cluster(folder: Path, count: int, *flags: str) -> Iterator[str]:
    """Members that are one cluster; the URLs of all of them, as `--etcd-servers` takes them."""
    members = [EtcdMember(folder, *flags, name=f"m{number}") for number in range(1, count + 1)]
    try:
        for member in members:
            member.start(members)
        for member in members:
            member.wait()
        yield ",".join(member.url for member in members)
    finally:
        for member in members:
            member.stop()


def free_ports(count: int) -> tuple[int, ...]:
    """That nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = tuple(one.getsockname()[1] for one in sockets)
    for one in sockets:
        one.close()
    return ports
