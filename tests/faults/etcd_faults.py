"""Three etcd members and two Doormen under faults: nothing acknowledged is lost, nobody is told anything wrong.

    .venv/bin/python tests/faults/etcd_faults.py --minutes 30 --seed 1

Members and Doormen are killed, stopped and continued, and cut off at random, also several at once, while four clients
write, three watch, and one deletes pods of a ReplicaSet. In the end everything is compared with the history that etcd
has: every acknowledged write is in it, at the revision that was told; every watch told all of it, once and in order,
or that there is a gap; lists were what was there; and whatever controllers and schedulers did was done by the Doorman
that held their lease.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.fault_clients import Away, Churner, Client, Connection, Pace, Watcher, Writer
from faults.fault_truth import History, MembersDisagree, read_history
from faults.fault_world import TOLERATION_SECONDS, World

WRITERS, WATCHERS, REPLICAS = 4, 3, 4
CALM_SECONDS_MAX = 60.0
SHOWN_MAX = 5
HINT = "hint: etcd 3.5.0 to 3.5.2 do that when members are killed under load; try another: ETCD=/usr/bin/etcd"
SETS = "/apis/apps/v1/namespaces/default/replicasets"


class Run:
    def __init__(self, folder: Path, seed: int) -> None:
        self.world = World(folder, seed)
        self.pace = Pace()
        doormen = self.world.doormen
        self.writers = [Writer(doormen, number, seed, self.pace.tick) for number in range(WRITERS)]
        self.watchers = [Watcher(doormen, number, seed) for number in range(WATCHERS)]
        self.churner = Churner(doormen, 0, seed)
        self.clients: list[Client] = [*self.writers, *self.watchers, self.churner]
        self.faults: list[str] = []

    def go(self, seconds: float, progress: bool) -> History:
        _ask(self.world, "POST", SETS, _replica_set())
        for client in self.clients:
            client.start()
        ends = time.monotonic() + seconds
        told = time.monotonic()
        while time.monotonic() < ends:
            self.world.fault()
            if progress and time.monotonic() > told + 60:
                told = time.monotonic()
                found = [fault for client in self.clients for fault in client.faults]
                count = self.world.counts.total()
                print(f"{count} faults, {self.pace.count} writes, {len(found)} found", file=sys.stderr, flush=True)
                print("".join(f"  {fault}\n" for fault in found[:SHOWN_MAX]), end="", file=sys.stderr, flush=True)
        self._calm_down()
        for client in self.clients:
            client.end()
        history = read_history(self.world.direct_urls, TOLERATION_SECONDS)
        self.faults += [fault for client in self.clients for fault in client.faults]
        self.faults += history.faults(
            (one for writer in self.writers for one in writer.acknowledged),
            (key for writer in self.writers for key in (*writer.keys, *writer.retired)),
            (segment for watcher in self.watchers for segment in watcher.segments),
        )
        return history

    def _calm_down(self) -> None:
        """Nothing more happens to anybody: everybody serves again, and controllers act."""
        self.churner.end()
        ends = time.monotonic() + CALM_SECONDS_MAX
        while (missing := self._missing()) and time.monotonic() < ends:
            threading.Event().wait(0.5)
        if missing:
            self.faults.append(f"{missing}, {CALM_SECONDS_MAX:g} s after the last fault")

    def _missing(self) -> str:
        """What is not as it should be; empty: nothing."""
        for number, server in enumerate(self.world.doormen):
            try:
                status, doc = Connection([server], 0).ask("GET", f"{SETS}/work")
            except Away as error:
                return f"Doorman {number} does not serve: {error}"
            if status != 200 or doc["status"].get("readyReplicas") != REPLICAS:
                return f"the ReplicaSet is not as it is wanted: {status} {doc.get('status')}"
        return ""


def _ask(world: World, method: str, path: str, body: object = None) -> tuple[int, dict[str, dict[str, object]]]:
    connection = Connection(world.doormen, 0)
    for _ in range(20):
        try:
            return connection.ask(method, path, body)
        except Away:
            continue
    raise AssertionError("nobody answers")


def _replica_set() -> dict[str, object]:
    labels = {"app": "work"}
    pod = {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "work"}, "spec": spec}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="doorman-faults-") as folder:
        run = Run(Path(folder), options.seed)
        try:
            history = run.go(options.minutes * 60, progress=True)
        except MembersDisagree as error:
            sys.exit(f"etcd has lost writes, so the run says nothing of Doorman: {error}\n{HINT}")
        finally:
            run.world.close()
    terms = {lease: len({term.holder for term in found} - {""}) for lease, found in history.terms.items()}
    acts = {lease: len(found) for lease, found in history.acts.items()}
    segments = [segment for watcher in run.watchers for segment in watcher.segments]
    print(f"seed {options.seed}, {options.minutes:g} minutes: {run.world.counts.total()} faults")
    print(", ".join(f"{what}: {count}" for what, count in sorted(run.world.counts.items())))
    print(f"{run.pace.count} writes acknowledged; the longest time without one: {run.pace.longest_seconds:.1f} s")
    print(
        f"{sum(len(one.told) for one in segments)} events watched, resumed {sum(one.resumed for one in run.watchers)} "
        f"times, listed anew {len(segments) - WATCHERS} times"
    )
    print(f"leaders: {terms}; what they did: {acts}")
    print(f"found: {len(run.faults)}")
    for fault in run.faults[:20]:
        print(f"FOUND {fault}")
    return 1 if run.faults else 0


if __name__ == "__main__":
    sys.exit(main())
