"""Two API servers over one etcd, and what is asked of both at the same time."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.etcd import EtcdMember
from support.fuzzing import Line, plain
from support.server import Server, fetch

TwoServers = tuple[Server, Server]


@contextmanager
def two_servers(folder: Path) -> Iterator[TwoServers]:
    with EtcdMember(folder, "--unsafe-no-fsync") as member:
        place = ["--etcd-servers", member.url, "--data-dir", str(folder / "keys"), "--components=false"]
        for name in ("a", "b"):
            (folder / name).mkdir()
        with Server(folder / "a", *place, place=()) as first, Server(folder / "b", *place, place=()) as second:
            yield first, second


def asked(server: Server, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
    status, _, answer = fetch(server, method, path, body=None if body is None else json.dumps(body).encode())
    assert status == expected, answer
    return json.loads(answer)


def posted_together(path: str, wishes: Sequence[tuple[Server, Sequence[Any]]]) -> list[list[tuple[int, Any]]]:
    """Everybody posts his documents, one after the other, at the same time as everybody else. The answers to each."""
    answers: list[list[tuple[int, Any]]] = [[] for _ in wishes]
    barrier = threading.Barrier(len(wishes))

    def post(number: int) -> None:
        server, bodies = wishes[number]
        line = Line(server)
        barrier.wait()
        for body in bodies:
            status, answer = line.ask(plain("POST", path, body))
            answers[number].append((status, json.loads(answer)))
        line.close()

    threads = [threading.Thread(target=post, args=(number,)) for number in range(len(wishes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
