"""The truth where etcd is the store: what it holds, and what each server must know of it.

Servers are told by a watch. What one publishes must be all that was written, in order, up to the revision it says to
have reached; what it reads when it begins, or begins anew, must be all there was at that revision.
"""

import json
from collections.abc import Callable
from typing import Any

from doorman.api.scheme import builtin_scheme
from doorman.api.well_known import KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from doorman.server.codec.etcd_objects import EtcdObjects
from doorman.store.etcd.etcd_messages import DELETE
from doorman.store.store_contract import Store
from sim.sim_etcd import Message
from sim.sim_etcd_members import SimEtcd
from sim.sim_truth import Truth
from sim.sim_world import World

PREFIX = "/registry/"
EVENT_SECONDS = 120
EARLY_SECONDS = 2.5
"""So long before it is used a lease may be granted: etcd takes its time to answer, and to look for what has ended."""
LEASES = "leases.coordination.k8s.io/kube-system/"


class EtcdTruth:
    def __init__(self, world: World, etcd: SimEtcd, truth: Truth) -> None:
        self._world = world
        self._etcd = etcd
        self._truth = truth
        scheme = builtin_scheme()
        self._codec = EtcdObjects(scheme.kinds, scheme.schema, event_seconds=EVENT_SECONDS)
        self._put_at: dict[str, float] = {}
        """When what goes by itself was put."""
        self.holders: dict[str, str] = {}
        """Who holds which lease, by what is written."""
        self._held: dict[str, list[tuple[float, str]]] = {}
        """By lease: since when who holds it."""
        self._placed: set[str] = set()
        self.may_be_late: Callable[[str, float], bool] = lambda _who, _at: False
        """Whether a server was stopped just before it sent something at a moment: it had looked at the lease before."""
        self.acted = 0
        etcd.history.on_events = self._hear

    def _hear(self, revision: int, events: list[Message]) -> None:
        for event in events:
            key = self._codec.from_etcd_key(event.kv.key.decode()[len(PREFIX) :])
            if key is None or not event.kv.key.decode().startswith(PREFIX):
                continue
            is_gone = event.type == DELETE
            value = None if is_gone else self._codec.to_kept(key, event.kv.value)
            self._truth.add(revision, key, value)
            self._check_life(key, is_gone=is_gone)
            if key.startswith(LEASES) and not is_gone:
                self._hear_lease(key.removeprefix(LEASES), event.kv.value)
            elif key.startswith("pods/"):
                self._check_actor(key, event)
        self._truth.revision = revision

    def _hear_lease(self, name: str, value: bytes) -> None:
        holder = (json.loads(value).get("spec") or {}).get("holderIdentity") or ""
        if self.holders.get(name) != holder:
            self.holders[name] = holder
            self._held.setdefault(name, []).append((self._world.now(), holder))

    def _check_actor(self, key: str, event: Message) -> None:
        """Whoever makes pods for others, or places them, held the lease when it sent that."""
        if event.type == DELETE:
            self._placed.discard(key)
            return
        pod = json.loads(event.kv.value)
        if event.kv.version == 1 and pod["metadata"].get("ownerReferences"):
            self._check_leader(KUBE_CONTROLLER_MANAGER, f"made {key}")
        if pod["spec"].get("nodeName") and key not in self._placed:
            self._placed.add(key)
            self._check_leader(KUBE_SCHEDULER, f"placed {key}")

    def _check_leader(self, lease: str, what: str) -> None:
        sent = self._etcd.writer
        self.acted += 1
        before = [holder for since, holder in self._held.get(lease, []) if since <= sent.at]
        if not (before and before[-1].startswith(f"machine{sent.who}_")) and not self.may_be_late(sent.who, sent.at):
            self._world.fail(f"server{sent.who} {what}, sent at {sent.at:.3f}, and {before[-1:]} held {lease}")

    def _check_life(self, key: str, *, is_gone: bool) -> None:
        """What goes by itself goes no sooner than it should."""
        seconds = self._codec.seconds_to_live(key)
        if not seconds:
            return
        sent = self._etcd.writer
        if not is_gone:
            is_late = self.may_be_late(sent.who, sent.at)
            self._put_at[key] = float("-inf") if is_late else sent.at  # what is done late was asked for in time
        elif not sent.who:
            lived = self._world.now() - self._put_at.pop(key)
            if lived < seconds - EARLY_SECONDS:
                self._world.fail(f"{key} was forgotten after {lived:.1f} s, and was to be kept for {seconds}")

    def follow(self, store: Store, name: str) -> None:
        """A server has read everything: from now on whatever it publishes is looked at."""
        self._truth.opened += 1
        self._world.note(f"server{name} has read everything at {store.revision}; etcd is at {self._truth.revision}")
        self._check_all(store, name)
        store.add_waker(self._looking(store, name))

    def _looking(self, store: Store, name: str) -> Callable[[], None]:
        revision, epoch = store.revision, store.epoch

        def look() -> None:
            nonlocal revision, epoch
            before, revision = revision, store.revision
            if store.epoch != epoch:
                epoch = store.epoch
                self._world.note(f"server{name} has read everything anew at {revision}")
                if before + 1 >= self._etcd.history.compacted_at(self._truth.revision):
                    self._world.fail(f"server{name} has read everything anew, and all after {before} could be told")
                self._check_all(store, name)
                return
            told = [(event.revision, event.key) for event in store.events_after(before)]
            true = [(event.revision, event.key) for event in self._truth.between("", before, revision)]
            if told != true:
                differing: Any = sorted({*told} ^ {*true})[:5] or "their order"
                self._world.fail(f"server{name} was told of ({before}, {revision}] otherwise than it was: {differing}")

        return look

    def _check_all(self, store: Store, name: str) -> None:
        found = {entry.key: entry.revision for entry in store.entries()}
        true = self._truth.state("", store.revision)
        if found != true:
            differing = sorted(found.items() ^ true.items())[:5]
            self._world.fail(f"server{name} has read at {store.revision} what differs: {differing}")
