"""Kills of real processes under load: nothing that was acknowledged is lost.

    .venv/bin/python tests/kills/kills.py --kills 500 --seed 1

Four clients write as fast as they can, each its own keys. Again and again something is killed with SIGKILL: the server,
its writer, its front, or all three; under load, while it starts, while it stops, while a backup is made, and about the
time at which superseded rows are deleted. After each kill the server is there again, and every key holds what was last
acknowledged, or what was asked for after that and not answered.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.fuzzing import Line, plain
from support.server import Server

PATH = "/api/v1/namespaces/default/configmaps"
VICTIMS = ("server", "writer", "front", "all")
MOMENTS = ("load", "load", "load", "start", "stop", "backup", "compaction")
CLIENTS, KEYS = 4, 5
COMPACTION_ROWS = 2048
MODULES = {"writer": "doorman.store.writer_process", "front": "doorman.front"}
NOTHING = -1


class Writer(threading.Thread):
    """Writes its own keys, and knows of each what was acknowledged and what is open."""

    def __init__(self, number: int, seed: object) -> None:
        super().__init__(daemon=True)
        self._rng = random.Random(f"{seed}/{number}")
        self.names = [f"c{number}-{key}" for key in range(KEYS)]
        self.acknowledged = dict.fromkeys(self.names, NOTHING)
        self.open: dict[str, set[int]] = {name: set() for name in self.names}
        self.writes = 0
        self.revision = 0
        self._line: Line | None = None
        self._goes = threading.Event()
        self._rests = threading.Event()
        self._rests.set()
        self._count = 0
        self.start()

    def begin(self, server: Server) -> None:
        self._line = Line(server)
        self._rests.clear()
        self._goes.set()

    def rest(self) -> None:
        self._goes.clear()
        self._rests.wait()

    def run(self) -> None:
        while True:
            self._goes.wait()
            while self._goes.is_set():
                try:
                    self._write()
                except (OSError, AssertionError, ValueError):
                    threading.Event().wait(0.01)  # the server is away
            self._rests.set()

    def _write(self) -> None:
        assert self._line is not None
        name = self._rng.choice(self.names)
        held = self.acknowledged[name]
        self._count += 1
        value = NOTHING if held != NOTHING and self._rng.random() < 0.1 else self._count
        body = {"metadata": {"name": name}, "data": {"n": str(value), "filling": "x" * self._rng.choice((10, 3000))}}
        self.open[name].add(value)
        if value == NOTHING:
            status, answer = self._line.ask(plain("DELETE", f"{PATH}/{name}"))
        elif held == NOTHING and not self.open[name] - {value}:
            status, answer = self._line.ask(plain("POST", PATH, body))
        else:
            status, answer = self._line.ask(plain("PUT", f"{PATH}/{name}", body))
            if status == 404:
                status, answer = self._line.ask(plain("POST", PATH, body))
        if status in (200, 201):
            self.writes += 1
            self.acknowledged[name] = value
            self.open[name].clear()
            found = json.loads(answer)["metadata"].get("resourceVersion") if value != NOTHING else None
            self.revision = max(self.revision, int(found or 0))

    def check(self, found: dict[str, int]) -> list[str]:
        """What is lost; from now on what was found is what is there."""
        lost = []
        for name in self.names:
            held = found.get(name, NOTHING)
            if held != self.acknowledged[name] and held not in self.open[name]:
                lost.append(f"{name}: acknowledged {self.acknowledged[name]}, open {self.open[name]}, found {held}")
            self.acknowledged[name] = held
            self.open[name].clear()
        return lost


class Kills:
    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._writers = [Writer(number, seed) for number in range(CLIENTS)]
        self._pause = threading.Event()
        self.counts: Counter[str] = Counter()
        self.lost: list[str] = []
        self._log = (folder / "log").open("w")
        self._server = self._start()
        self._at_compaction = 0

    @property
    def writes(self) -> int:
        return sum(writer.writes for writer in self._writers)

    def run(self, kills: int, progress: bool) -> None:
        for number in range(kills):
            moment, victim = self._rng.choice(MOMENTS), self._rng.choice(VICTIMS)
            self._kill_at(moment, victim)
            self.counts[f"{victim} at {moment}"] += 1
            self._check()
            if progress and number % 20 == 19:
                print(f"{number + 1} kills, {self.writes} writes, {len(self.lost)} lost", file=sys.stderr, flush=True)
        self._end(signal.SIGTERM)

    def _kill_at(self, moment: str, victim: str) -> None:
        for writer in self._writers:
            writer.begin(self._server)
        self._wait(self._rng.uniform(0.02, 0.3))
        match moment:
            case "start":
                self._end(signal.SIGKILL)
                self._kill_a_start()
            case "stop":
                self._server.process.send_signal(signal.SIGTERM)
                self._wait(self._rng.uniform(0, 0.2))
                self._kill(victim)
                self._end(signal.SIGKILL)
            case "backup":
                self._kill_a_backup(victim)
            case "compaction":
                # Superseded rows are deleted when there are enough of them: writes until about then.
                while self.writes - self._at_compaction < COMPACTION_ROWS * 0.9:
                    self._wait(0.02)
                self._at_compaction = self.writes
                self._wait(self._rng.uniform(0, 0.4))
                self._kill(victim)
            case _:
                self._kill(victim)
        self._wait(self._rng.uniform(0, 0.05))
        for writer in self._writers:
            writer.rest()

    def _kill(self, victim: str) -> None:
        for name in ("server", "writer", "front") if victim == "all" else (victim,):
            pids = [self._server.process.pid] if name == "server" else self._children(MODULES[name])
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def _children(self, module: str) -> list[int]:
        try:
            return self._server.children(module)
        except OSError:
            return []

    def _kill_a_start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "doorman",
            "up",
            "--secure-port",
            "0",
            "--data-dir",
            str(self._folder / "data"),
        ]
        starting = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._log)
        self._wait(self._rng.uniform(0.1, 1.5))
        starting.kill()
        starting.wait()

    def _kill_a_backup(self, victim: str) -> None:
        file = self._folder / "backup.tar.gz"
        file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "doorman", "backup", str(file), "--data-dir", str(self._folder / "data")]
        backing = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._log)
        self._wait(self._rng.uniform(0.2, 1.0))
        self._kill(victim)
        if self._rng.random() < 0.5:
            backing.kill()
        if backing.wait() == 0:
            into = tempfile.mkdtemp(dir=self._folder)
            done = subprocess.run(
                [sys.executable, "-m", "doorman", "restore", str(file), "--data-dir", into],
                stderr=self._log,
                check=False,
            )
            if done.returncode:
                self.lost.append("a backup that was made cannot be restored")

    def _check(self) -> None:
        """Wait for the server, or start it; and compare."""
        is_there = self._server.process.poll() is None and self._is_ready()
        if not is_there:
            self._end(signal.SIGKILL)
            self._server = self._start()
        line = Line(self._server)
        status, body = line.ask(plain("GET", PATH))
        line.close()
        listed = json.loads(body)
        assert status == 200, body
        found = {
            item["metadata"]["name"]: int(item["data"]["n"]) for item in listed["items"] if "n" in item.get("data", {})
        }
        revision = int(listed["metadata"]["resourceVersion"])
        for writer in self._writers:
            self.lost += writer.check(found)
            if writer.revision > revision:
                self.lost.append(f"revision {writer.revision} was acknowledged, and the store is at {revision}")

    def _is_ready(self) -> bool:
        """Whether it answers and writes: a front is started anew, a writer that is gone is not."""
        line = Line(self._server)
        for _ in range(200):
            try:
                status, _body = line.ask(plain("GET", "/readyz"))
            except OSError:
                status = 0
            if status == 200:
                line.close()
                return True
            if status >= 500 or self._server.process.poll() is not None:
                return False
            self._wait(0.02)
        return False

    def _start(self) -> Server:
        return Server(self._folder, "--nodes", "1", in_memory=False, log=self._log)

    def _end(self, number: int) -> None:
        if self._server.process.poll() is None:
            self._server.stop(number)
        self._server.__exit__(None, None, None)

    def _wait(self, seconds: float) -> None:
        self._pause.wait(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="doorman-kills-") as folder:
        kills = Kills(Path(folder), options.seed)
        kills.run(options.kills, progress=True)
    print(f"{options.kills} kills, {kills.writes} acknowledged writes in {time.monotonic() - began:.0f} s")
    print(", ".join(f"{what}: {count}" for what, count in sorted(kills.counts.items())))
    print(f"lost: {len(kills.lost)}")
    for what in kills.lost[:20]:
        print(f"LOST {what}")
    return 1 if kills.lost else 0


if __name__ == "__main__":
    sys.exit(main())
