"""Faults that are planted on purpose, one at a time: the simulator must find each of them.

    .venv/bin/python tests/sim/mutants.py            all of them, with the seeds that found them
    .venv/bin/python tests/sim/mutants.py NAME ...   some
    .venv/bin/python tests/sim/mutants.py --search   with other seeds, and note in mutants.json which found them

A mutant that is not found within 200,000 steps says that something is promised and not tried. Some were bugs once.
"""

import argparse
import concurrent.futures
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from doorman.client.informer_cache import InformerCache
from doorman.client.leader_election import LeaderElector
from doorman.controllers.taint_eviction import taint_eviction
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.front.connections import Connections
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.streams import Stream
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.commit import Committer
from doorman.semantics.taints.eviction_time import NEVER, At, Now, decide_eviction
from doorman.store import database, writer_process
from doorman.store.key_index import KeyIndex, KeyIndexReader
from doorman.store.sqlite_store import SqliteStore, _Group
from doorman.store.store_contract import ABSENT, Entry, Write
from sim import sim_cluster
from sim.etcd_mutants import ETCD_MUTANTS
from sim.mutant_patches import Patch, both, every, kept_after_all, replacing
from sim.sim_cluster import SimCluster
from sim.sim_world import SimClock, SimulationFailed
from sim.simulation import plan_of, simulate

FOUND = Path(__file__).parent / "mutants.json"
STEPS_MAX, SEED_STEPS = 200_000, 50_000


def _unsynced(real: Any) -> Any:
    def connect(file: str) -> Any:
        connection = real(file)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    return connect


def _acknowledged_at_once(real: Any) -> Any:
    def flush(self: SqliteStore) -> None:
        real(self)
        if self._writing is not None and self._writing.events:
            sent, self._writing = self._writing, None
            self._index.publish(sent.events)
            for durable in sent.waiting:
                if not durable.done():
                    durable.set_result(None)
            self._writing = _Group()

    return flush


def _unconditional(self: KeyIndex, write: Write) -> Any:
    """A write upon another version than the last is taken all the same."""
    current = self.newest.get(write.key)
    if write.value is None and current is None:
        return _REAL_APPEND(self, write)
    return _REAL_APPEND(self, Write(write.key, write.value, current.revision if current is not None else ABSENT))


_REAL_APPEND = KeyIndex.append


def _without_deletions(real: Any) -> Any:
    def encode(self: _Group) -> bytearray:
        kept = [event for event in self.events if event.entry is not None]
        gone, self.events = self.events, kept or self.events
        try:
            return bytearray(real(self))
        finally:
            self.events = gone

    return encode


def _live_row_as_garbage(real: Any) -> Any:
    def join(self: SqliteStore, events: Any) -> None:
        real(self, events)
        if events[0].revision % 25 == 0:
            self._garbage.append(events[0].revision)

    return join


def _twice(real: Any) -> Any:
    calls = 0

    async def commit(self: SqliteStore, write: Write) -> Any:
        """Done, and done again."""
        nonlocal calls
        event = await real(self, write)
        calls += 1
        if calls % 40 == 0 and event.entry is not None and self.peek(write.key) is event.entry:
            return await real(self, Write(write.key, write.value, event.revision))
        return event

    return commit


def _decided(other: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(_real: Any) -> Any:
        return lambda *arguments, **options: other(decide_eviction(*arguments, **options))

    return make


def _set_twice(real: Any) -> Any:
    def plan(self: TaintEvictionController, pod: Any, *others: Any) -> None:
        """One timer can be cancelled; the other is found when that was."""
        real(self, pod, *others)
        key = pod.metadata.key
        if key in self._timers:
            _twins(self)[key] = self._timers[key]

    return plan


def _cancelled_once(real: Any) -> Any:
    def cancel(self: TaintEvictionController, key: str, actions: Any) -> None:
        real(self, key, actions)
        if (twin := _twins(self).pop(key, None)) is not None:
            self._timers[key] = twin

    return cancel


def _twins(controller: TaintEvictionController) -> dict[str, Any]:
    found: dict[str, Any] = vars(controller).setdefault("twins", {})
    return found


def _folding(_real: Any) -> Any:
    """Reads by a connection that could write: closing it folds what it could read of the log, and removes the log."""

    def look(file: str) -> Any:
        connection = database.connect(file)
        connection.text_factory = bytes
        return connection

    return look


def _dirty(_real: Any) -> Any:
    async def refresh(self: KeyIndexReader, key: str) -> Entry | None:
        return self.peek(key)

    return refresh


def _another(self: Connections, number: int, payload: memoryview) -> None:
    """What one client asked is answered to another."""
    others = [other for other, connection in self._connections.items() if other != number and connection._current]
    _REAL_RESPONSE(self, others[0] if others else number, payload)


_REAL_RESPONSE = Connections._on_response

MUTANTS: dict[str, Patch] = {
    "acknowledged-before-the-sync": replacing(sim_cluster, "_real_connect", _unsynced),
    "acknowledged-when-sent": replacing(SqliteStore, "_flush", _acknowledged_at_once),
    "lost-wake-up": replacing(WatchCache, "_pull", every(30, lambda _self: None)),
    "missed-index-update": replacing(
        InformerCache, "put", every(7, lambda self, key, value: self._objects.update({key: value}))
    ),
    "watch-skips-an-event": replacing(Stream, "offer", every(60, lambda _self, _event: None)),
    "watch-begins-one-late": replacing(
        Collection, "changes_after", lambda real: lambda self, revision: real(self, revision)[1:]
    ),
    "page-of-another-revision": replacing(Collection, "_undone", lambda _real: lambda _self, _revision: {}),
    "compare-and-swap-left-out": replacing(KeyIndex, "append", every(25, _unconditional)),
    "deletion-not-written": replacing(_Group, "encode", _without_deletions),
    "live-row-deleted-as-garbage": replacing(SqliteStore, "_join", _live_row_as_garbage),
    "write-done-twice": replacing(SqliteStore, "commit", _twice),
    "answer-to-another-client": replacing(Connections, "_on_response", every(50, _another)),
    "eviction-before-its-time": replacing(
        taint_eviction,
        "decide_eviction",
        _decided(lambda found: Now(taint=found.taint) if isinstance(found, At) else found),
    ),
    "eviction-forgotten": replacing(
        taint_eviction, "decide_eviction", _decided(lambda found: NEVER if isinstance(found, At) else found)
    ),
    "timer-not-cancelled": replacing(
        TaintEvictionController, "_cancel_with_event", lambda _real: lambda _self, _key, _actions: None
    ),
    "timer-set-twice": both(
        replacing(TaintEvictionController, "_plan", _set_twice),
        replacing(TaintEvictionController, "_cancel_with_event", _cancelled_once),
    ),
    "lease-renewed-after-losing-it": both(
        replacing(LeaderElector, "_is_expired", lambda real: lambda self, now: self._is_leading or real(self, now)),
        replacing(LeaderElector, "renew", lambda _real: kept_after_all),
    ),
    "leader-that-slept-acts": replacing(
        LeaderElector, "may_act", lambda _real: property(lambda self: self._renewed_at != float("-inf"))
    ),
    "lease-judged-by-a-clock-that-is-set": replacing(SimClock, "steady", lambda _real: SimClock.now),
    "log-folded-before-it-is-checked": replacing(database, "look", _folding),
    "read-before-it-is-synced": replacing(SimCluster, "sync_files", lambda _real: lambda _self, _directory: None),
    "refused-by-a-write-that-was-lost": replacing(SqliteStore, "refresh", _dirty),
    "writer-takes-any-file": replacing(writer_process, "outline", lambda _real: _AnyOutline),
    "writer-looks-at-the-end-alone": replacing(writer_process, "outline", lambda _real: _End),
    "refusal-that-waits-for-nothing": replacing(Committer, "_was_stale", lambda _real: _never_stale),
}


class _AnyOutline:
    """Equal to every other."""

    def __init__(self, _connection: Any) -> None: ...

    def __ne__(self, _other: object) -> bool:
        return False


class _End:
    """Equal to every other that ends at the same revision."""

    def __init__(self, connection: Any) -> None:
        self.revision, self.rows = database.last_revision(connection), 0

    def __ne__(self, other: object) -> bool:
        return isinstance(other, database.Outline) and other.revision != self.revision


async def _never_stale(_self: Committer, _key: str) -> bool:
    return False


def find(name: str, seeds: list[int]) -> tuple[str, int | None, int, str]:
    """Which seed finds it, after how many steps, and what it says."""
    steps = 0
    for seed in seeds:
        with ExitStack() as stack:
            (MUTANTS | ETCD_MUTANTS)[name](stack)
            try:
                steps += simulate(plan_of("etcd" if name in ETCD_MUTANTS else "sqlite", seed, SEED_STEPS)).steps
            except SimulationFailed as failure:
                told = str(failure).splitlines()[0]
                return name, seed, steps + int(told.split()[1]), told
            except Exception as error:  # noqa: BLE001  a mutant may break the simulation itself
                return name, seed, steps, repr(error)
    return name, None, steps, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=sorted(MUTANTS | ETCD_MUTANTS))
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--first", type=int, default=1, help="the first seed of a search")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--plant", action="store_true", help="only see whether what they replace is there")
    options = parser.parse_args()
    if options.plant:
        for name in options.names:
            with ExitStack() as stack:
                (MUTANTS | ETCD_MUTANTS)[name](stack)
        return 0
    known: dict[str, int] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    more = list(range(options.first, options.first + STEPS_MAX // SEED_STEPS))
    began, alive = time.monotonic(), []
    with concurrent.futures.ProcessPoolExecutor(options.processes, max_tasks_per_child=1) as pool:
        tasks = [
            # A seed is another run whenever the server does anything otherwise: then the next ones may find it.
            pool.submit(find, name, more if options.search or name not in known else [known[name], *more])
            for name in options.names
        ]
        for task in tasks:
            name, seed, steps, told = task.result()
            print(
                f"{name}: {f'seed {seed}, {steps} steps: {told[:200]}' if seed is not None else 'NOT FOUND'}",
                flush=True,
            )
            if seed is None:
                alive.append(name)
            elif options.search:
                known[name] = seed
    if options.search:
        FOUND.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n")
    print(f"{len(options.names) - len(alive)} of {len(options.names)} found in {time.monotonic() - began:.0f} s")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
