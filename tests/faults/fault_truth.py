"""What truly happened, as etcd has it, and whether everybody was told that and nothing else."""

import asyncio
import contextlib
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from doorman.store.etcd.etcd_client import EtcdClient, EtcdError, ProtoMessage
from doorman.store.etcd.etcd_messages import DELETE
from faults.fault_clients import GONE, Acknowledged, Key, Segment, Told
from faults.fault_world import scheduled_by

MAPS: Final = "/registry/configmaps/default/"
PODS: Final = "/registry/pods/default/"
LEASES: Final = "/registry/leases/kube-system/"
NOT_READY: Final = "node.kubernetes.io/not-ready"
READ_SECONDS_MAX: Final = 600.0


class Act(NamedTuple):
    """Something a leader did: its number among the Doormen shows in what it wrote."""

    revision: int
    name: str
    doorman: int


class Term(NamedTuple):
    revision: int
    holder: str


class History:
    def __init__(self, toleration_seconds: Sequence[int]) -> None:
        self.told: list[Told] = []
        """Of the clients' objects."""
        self.terms: dict[str, list[Term]] = {"kube-controller-manager": [], "kube-scheduler": []}
        self.acts: dict[str, list[Act]] = {"kube-controller-manager": [], "kube-scheduler": []}
        self._seconds = list(toleration_seconds)
        self._values: dict[str, int] = {}
        self._bound: set[str] = set()

    def take(self, revision: int, key: str, is_new: bool, value: bytes | None) -> None:
        if key.startswith(MAPS):
            self._take_map(revision, key.removeprefix(MAPS), is_new, value)
        elif key.startswith(PODS) and value is not None:
            self._take_pod(revision, key.removeprefix(PODS), is_new, json.loads(value))
        elif key.startswith(LEASES) and key.removeprefix(LEASES) in self.terms:
            holder = json.loads(value)["spec"].get("holderIdentity", "") if value is not None else ""
            terms = self.terms[key.removeprefix(LEASES)]
            if not terms or terms[-1].holder != holder:
                terms.append(Term(revision, holder))

    def _take_map(self, revision: int, name: str, is_new: bool, value: bytes | None) -> None:
        if value is None:
            if name in self._values:
                self.told.append(Told(revision, "DELETED", name, self._values.pop(name)))
            return
        number = (json.loads(value).get("data") or {}).get("n")
        if number is not None:
            self._values[name] = int(number)
            self.told.append(Told(revision, "ADDED" if is_new else "MODIFIED", name, int(number)))

    def _take_pod(self, revision: int, name: str, is_new: bool, pod: Any) -> None:  # a document
        if is_new:
            seconds = [one["tolerationSeconds"] for one in pod["spec"]["tolerations"] if one["key"] == NOT_READY]
            self.acts["kube-controller-manager"].append(Act(revision, name, self._seconds.index(seconds[0])))
        node = pod["spec"].get("nodeName")
        if node and pod["metadata"]["uid"] not in self._bound:
            self._bound.add(pod["metadata"]["uid"])
            self.acts["kube-scheduler"].append(Act(revision, name, scheduled_by(node)))

    def faults(
        self, acknowledged: Iterable[Acknowledged], keys: Iterable[Key], segments: Iterable[Segment]
    ) -> list[str]:
        return [
            *self._lost(acknowledged),
            *self._wrong_ends(keys),
            *(fault for segment in segments for fault in self._wrongly_told(segment)),
            *(fault for lease in self.terms for fault in self._second_leaders(lease)),
        ]

    def _lost(self, acknowledged: Iterable[Acknowledged]) -> Iterable[str]:
        there = {(one.revision, one.name, one.value) for one in self.told if one.type != "DELETED"}
        for one in acknowledged:
            if tuple(one) not in there:
                yield f"LOST {one} was acknowledged, and etcd knows nothing of it"

    def _wrong_ends(self, keys: Iterable[Key]) -> Iterable[str]:
        for key in keys:
            found = self._values.get(key.name, GONE)
            if found != key.value and found not in key.open and found not in key.created:
                told = [one for one in self.told if one.name == key.name][-4:]
                yield (
                    f"LOST {key.name}: {key.value} was acknowledged, {key.open} is open, {found} is there; "
                    f"asked: {', '.join(key.log)}; true: {told}"
                )

    def _wrongly_told(self, segment: Segment) -> Iterable[str]:
        revisions = [one.revision for one in self.told]
        state: dict[str, int] = {}
        begin, end = bisect_right(revisions, segment.start), bisect_right(revisions, segment.last)
        for one in self.told[:begin]:
            if one.type == "DELETED":
                state.pop(one.name, None)
            else:
                state[one.name] = one.value
        if state != segment.listed:
            yield f"LIST at {segment.start} is not what was there"
        expected = self.told[begin:end]
        if segment.told != expected:
            index = next(
                (n for n, pair in enumerate(zip(segment.told, expected, strict=False)) if pair[0] != pair[1]),
                min(len(segment.told), len(expected)),
            )
            yield (
                f"WATCH from {segment.start} to {segment.last}: {len(segment.told)} events instead of {len(expected)}; "
                f"the first that differs: {segment.told[index : index + 2]} instead of {expected[index : index + 2]}"
            )

    def _second_leaders(self, lease: str) -> Iterable[str]:
        """In the term of one holder one Doorman acts, and nobody while there is none; a holder is one Doorman."""
        terms = self.terms[lease]
        revisions = [term.revision for term in terms]
        who: dict[str, set[int]] = defaultdict(set)
        for act in self.acts[lease]:
            index = bisect_right(revisions, act.revision) - 1
            holder = terms[index].holder if index >= 0 else ""
            if not holder:
                yield f"{lease}: {act} though nobody held the lease"
            elif who[holder] and act.doorman not in who[holder]:
                yield f"{lease}: {act} in the term of {holder}, who is another"
            who[holder].add(act.doorman)


def read_history(urls: Sequence[str], toleration_seconds: Sequence[int]) -> History:
    """Everything since the beginning: nothing was compacted."""
    return asyncio.run(asyncio.wait_for(_read(urls, toleration_seconds), READ_SECONDS_MAX))


class MembersDisagree(Exception):
    """Etcd itself has lost what it had acknowledged, so that there is nothing to compare with."""


async def check_members(urls: Sequence[str]) -> None:
    """Each is asked after all others, and may not know less than they told. Raises MembersDisagree.

    Versions 3.5.0 to 3.5.2 lose committed writes now and then when a member is killed under load.
    """
    told = 0
    for url in (*urls, *urls):
        client = EtcdClient([url])
        revision = (await client.range(b"/registry", limit=1)).header.revision
        await client.close()
        if revision < told:
            raise MembersDisagree(f"{url} is at revision {revision}, after {told} was told by another member")
        told = revision


async def _read(urls: Sequence[str], toleration_seconds: Sequence[int]) -> History:
    await check_members(urls)
    client = EtcdClient(urls)
    history = History(toleration_seconds)
    newest = (await client.range(b"/registry", limit=1)).header.revision
    seen = 0
    while seen < newest:
        batches = client.watch(b"/registry/", b"/registry0", seen + 1, lambda _: None)
        with contextlib.suppress(EtcdError):
            async with contextlib.aclosing(batches):
                async for answers in batches:
                    for answer in answers:
                        for event in answer.events:
                            _take(history, event, newest)
                        if answer.events and not answer.fragment:
                            seen = answer.events[-1].kv.mod_revision
                    if seen >= newest:
                        break
    await client.close()
    return history


def _take(history: History, event: ProtoMessage, newest: int) -> None:
    kv = event.kv
    if kv.mod_revision <= newest:
        is_new = kv.create_revision == kv.mod_revision
        history.take(kv.mod_revision, kv.key.decode(), is_new, kv.value if event.type != DELETE else None)
