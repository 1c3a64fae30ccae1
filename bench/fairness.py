"""How long one user's writes take while another user has a hundred writers that never pause.

    .venv/bin/python bench/fairness.py [--writers 100] [--seconds 8] [--kubeconfig FILE]

Both are service accounts, so both belong to the same priority level. First the modest one writes alone, then beside the
greedy one. Times are in milliseconds. Without --kubeconfig a Doorman is started, on disk; with it any server can be
asked, a Kubernetes too. The writers are another process, on the same machine: some of the waiting is for processors.
"""

import argparse
import asyncio
import json
import multiprocessing
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

NAMESPACE = "fairness"
PAUSE_SECONDS = 0.01


class User:
    """One of an account's connections. HTTP by hand: the load must cost less than what it loads."""

    def __init__(self, server: str, token: str) -> None:
        self._where = urlsplit(server)
        self._token = token
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def write(self, name: str) -> int:
        if self._writer is None:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self._reader, self._writer = await asyncio.open_connection(
                self._where.hostname, self._where.port, ssl=context
            )
        assert self._reader is not None
        body = json.dumps({"metadata": {"name": name}, "data": {"a": "x" * 1000}})
        self._writer.write(
            f"POST /api/v1/namespaces/{NAMESPACE}/configmaps HTTP/1.1\r\nHost: {self._where.netloc}\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        await self._reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        return int(head.split(b" ", 2)[1])


async def modest(server: str, token: str, run: str, seconds: float) -> list[float]:
    user, taken = User(server, token), []
    await user.write(f"modest-{run}-first")
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        assert await user.write(f"modest-{run}-{len(taken)}") == 201
        taken.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(PAUSE_SECONDS)
    return sorted(taken)


def greedy(server: str, token: str, writers: int, stopped: Event, answers: Any) -> None:  # a multiprocessing queue
    async def one(number: int, counts: dict[int, int]) -> None:
        user, written = User(server, token), 0
        while not stopped.is_set():
            status = await user.write(f"greedy-{number}-{written}")
            counts[status] = counts.get(status, 0) + 1
            written += 1

    async def main() -> dict[int, int]:
        counts: dict[int, int] = {}
        await asyncio.gather(*(one(number, counts) for number in range(writers)))
        return counts

    answers.put(asyncio.run(main()))


def measured(kubeconfig: Path, writers: int, seconds: float) -> None:
    server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    tokens = {name: account(kubeconfig, name) for name in ("modest", "greedy")}
    alone = asyncio.run(modest(server, tokens["modest"], "alone", seconds))
    show("alone", alone)
    stopped, answers = multiprocessing.Event(), multiprocessing.Queue()
    load = multiprocessing.Process(target=greedy, args=(server, tokens["greedy"], writers, stopped, answers))
    load.start()
    time.sleep(1)
    began = time.perf_counter()
    beside = asyncio.run(modest(server, tokens["modest"], "beside", seconds))
    stopped.set()
    counts = answers.get()
    load.join()
    show(f"beside {writers} writers", beside)
    print(f"p99 {at(beside, 0.99) / at(alone, 0.99):.1f} times what it was; the writers were answered", end=" ")
    print(", ".join(f"{status}: {count}" for status, count in sorted(counts.items())), end=" ")
    print(f"in {time.perf_counter() - began + 1:.0f} s")


def at(taken: list[float], share: float) -> float:
    return taken[min(int(len(taken) * share), len(taken) - 1)]


def show(what: str, taken: list[float]) -> None:
    print(f"{what:20} {len(taken):6} writes, median {at(taken, 0.5):6.1f}, p99 {at(taken, 0.99):6.1f}", flush=True)


def account(kubeconfig: Path, name: str) -> str:
    """Its token: of a service account that may write here."""
    kubectl(kubeconfig, "create", "namespace", NAMESPACE)
    kubectl(kubeconfig, "create", "-n", NAMESPACE, "serviceaccount", name)
    rights = ("--clusterrole=edit", f"--serviceaccount={NAMESPACE}:{name}")
    kubectl(kubeconfig, "create", "-n", NAMESPACE, "rolebinding", name, *rights)
    return kubectl(kubeconfig, "create", "-n", NAMESPACE, "token", name)


def kubectl(kubeconfig: Path, *words: str) -> str:
    done = subprocess.run(
        ["kubectl", f"--kubeconfig={kubeconfig}", *words], capture_output=True, text=True, check=False
    )
    if done.returncode and "AlreadyExists" not in done.stderr:
        sys.exit(f"kubectl {' '.join(words)}: {done.stderr}")
    return done.stdout.strip()


@contextmanager
def started() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="doorman-bench-"))
    kubeconfig = folder / "kubeconfig"
    words = [sys.executable, "-m", "doorman", "up", "--nodes=0", "--secure-port=0", f"--data-dir={folder / 'data'}"]
    with subprocess.Popen([*words, f"--kubeconfig-out={kubeconfig}"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            yield kubeconfig
        finally:
            server.terminate()
    shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--kubeconfig", type=Path)
    given = parser.parse_args()
    if given.kubeconfig is not None:
        measured(given.kubeconfig, given.writers, given.seconds)
        return
    with started() as kubeconfig:
        measured(kubeconfig, given.writers, given.seconds)


if __name__ == "__main__":
    main()
