"""Pods that have not changed count as they do when they are looked at anew."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.views.apps import ReplicaSetStatus
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.controllers.pods.controller_refs import Claimant
from doorman.controllers.replicas.counted_pods import CountedPods
from doorman.controllers.replicas.replicas import Replicated, count_replicas

LABELS = {"app": "web", "track": "new"}
META = ObjectMeta(name="web", namespace="default", uid="owner", generation=1)
SELECTOR = parse_selector("app=web")
OWNER = Replicated(
    claimant=Claimant(resource="replicasets.apps", api_version="apps/v1", kind="ReplicaSet", meta=META),
    replicas=3,
    selector=SELECTOR,
    template={"metadata": {"labels": LABELS}},
    min_ready_seconds=0,
    status=ReplicaSetStatus(),
)


def pod(number: int, *, ready: bool, going: bool, labeled: bool) -> Pod:
    metadata: dict[str, Any] = {
        "name": f"web-{number}",
        "uid": str(number),
        "labels": LABELS if labeled else {"app": "web"},
        "ownerReferences": [{"kind": "ReplicaSet", "uid": "owner", "controller": True}],
    }
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return msgspec.convert({"metadata": metadata, "status": {"phase": "Running", "conditions": conditions}}, Pod)


STATES = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=6)


@given(first=STATES, second=STATES)
def test_counts_are_those_of_a_fresh_look_whatever_changed_meanwhile(
    first: list[tuple[bool, bool, bool]], second: list[tuple[bool, bool, bool]]
) -> None:
    known_pods = CountedPods()
    before: list[Pod] = []
    for states in (first, second):
        pods = [pod(at, ready=ready, going=going, labeled=labeled) for at, (ready, going, labeled) in enumerate(states)]
        pods[:2] = before[: min(2, len(pods))] or pods[:2]
        before = pods
        found = known_pods.of("default/web", META, SELECTOR, LABELS, pods)
        assert found == count_replicas(OWNER, pods, 0.0)


def test_orphans_strangers_and_pods_that_no_longer_match_have_no_counted_pods() -> None:
    known_pods = CountedPods()
    fine = pod(1, ready=True, going=False, labeled=True)
    orphan = msgspec.structs.replace(fine, metadata=msgspec.structs.replace(fine.metadata, owner_references=()))
    astray = msgspec.structs.replace(fine, metadata=msgspec.structs.replace(fine.metadata, labels={"app": "other"}))
    for other in (orphan, astray):
        assert known_pods.of("default/web", META, SELECTOR, LABELS, [fine, other]) is None


def test_owner_that_changed_is_looked_at_anew() -> None:
    known_pods = CountedPods()
    one = pod(1, ready=True, going=False, labeled=True)
    assert known_pods.of("default/web", META, SELECTOR, LABELS, [one]) is not None
    changed = msgspec.structs.replace(META, generation=2)
    assert known_pods.of("default/web", changed, parse_selector("app=other"), LABELS, [one]) is None
