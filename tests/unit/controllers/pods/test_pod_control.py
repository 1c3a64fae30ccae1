"""What was asked for counts until it is seen; what fails slows down."""

from typing import Any

import msgspec

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.base.errors import ApiError, Cause, GroupResource, not_found
from doorman.client.actions import Create, Delete, ObjectReference, RecordEvent
from doorman.client.controller_contract import DONE, Result
from doorman.client.informer_cache import InformerCache
from doorman.controllers.pods.pod_control import Owner, PodControl, pod_body
from support.objects import pod

OWNER = Owner(key="set/default/d", meta=ObjectMeta(namespace="default", name="d", uid="u"), reference=ObjectReference())
LATE = f"late/{OWNER.key}"
FORBIDDEN = ApiError(403, "Forbidden", "no")


def control() -> tuple[PodControl, InformerCache[Pod]]:
    cache: InformerCache[Pod] = InformerCache()
    return PodControl("test-controller", cache), cache


def body() -> dict[str, Any]:
    return {"metadata": {"generateName": "d-"}, "spec": {}}


def keys(wakes: list[tuple[str, float]], kind: str) -> list[str]:
    return [key for key, _ in wakes if key.startswith(kind)]


def seen(cache: InformerCache[Pod], key: str, **metadata: Any) -> Pod:
    name = key.rpartition("/")[2]
    view = msgspec.convert(pod(name, metadata={"uid": f"uid-{name}", **metadata}), Pod)
    cache.put(view.metadata.key, view)
    return view


def test_creations_go_in_doubling_batches_once_the_last_was_seen() -> None:
    pods, cache = control()
    sizes = []
    for round_ in range(4):
        wakes = keys(pods.create(OWNER, [body() for _ in range(100)], float(round_)), "create/")
        sizes.append(len(wakes))
        assert keys(pods.create(OWNER, [body() for _ in range(100)], float(round_)), "create/") == []
        for key in wakes:
            seen(cache, key.partition("/")[2])
        assert pods.creating(OWNER.key, float(round_)) == []
    assert sizes == [1, 2, 4, 8]
    pods.create(OWNER, [], 9.0)
    assert len(keys(pods.create(OWNER, [body() for _ in range(9)], 10.0), "create/")) == 1


def test_creation_is_an_action_and_an_event() -> None:
    pods, _ = control()
    key = keys(pods.create(OWNER, [body()], 0.0), "create/")[0]
    create, event = pods.reconcile(key, 0.0).actions
    assert isinstance(create, Create)
    assert isinstance(event, RecordEvent)
    name = create.body["metadata"]["name"]
    assert (name[:2], len(name), create.body["metadata"]["generateName"]) == ("d-", 7, "d-")
    assert (event.reason, event.message) == ("SuccessfulCreate", f"Created pod: {name}")
    assert len(pods.creating(OWNER.key, 0.0)) == 1


def test_names_differ_and_repeat_from_run_to_run() -> None:
    runs = []
    for _ in range(2):
        pods, cache = control()
        names = []
        for _ in range(3):
            for key in keys(pods.create(OWNER, [body()] * 4, 0.0), "create/"):
                names.append(key)
                seen(cache, key.partition("/")[2])
            pods.creating(OWNER.key, 0.0)
        runs.append(names)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == len(runs[0]) == 7


def test_name_of_a_pod_that_is_gone_is_not_given_again_after_a_restart() -> None:
    later = Owner(
        key=OWNER.key, meta=msgspec.structs.replace(OWNER.meta, resource_version="9"), reference=ObjectReference()
    )
    names = [keys(control()[0].create(owner, [body()], 0.0), "create/") for owner in (OWNER, later)]
    assert names[0] != names[1]


def test_failure_pauses_and_begins_again_with_one() -> None:
    pods, cache = control()
    for _ in range(3):
        for key in keys(pods.create(OWNER, [body()] * 10, 0.0), "create/"):
            seen(cache, key.partition("/")[2])
        pods.creating(OWNER.key, 0.0)
    for key in keys(pods.create(OWNER, [body()] * 10, 0.0), "create/"):
        pods.gave_up(key, FORBIDDEN, 0.0)
    failures = pods.failures(OWNER.key)
    assert {failure.message for failure in failures} == {"Error creating: no"}
    assert pods.failures(OWNER.key) == []
    assert pods.create(OWNER, [body()] * 10, 0.01) == [(OWNER.key, pods.paused_until(OWNER.key))]
    assert len(keys(pods.create(OWNER, [body()] * 10, 100.0), "create/")) == 1


def test_namespace_that_is_going_is_not_told() -> None:
    pods, _ = control()
    key = keys(pods.create(OWNER, [body()], 0.0), "create/")[0]
    pods.gave_up(key, ApiError(403, "Forbidden", "x", causes=[Cause(reason="NamespaceTerminating")]), 0.0)
    assert pods.failures(OWNER.key) == []


def test_deletion_counts_until_it_is_seen() -> None:
    pods, cache = control()
    one = seen(cache, "default/p")
    assert pods.delete(OWNER, [one], 0.0) == [("delete/default/p", 0.0)]
    assert pods.delete(OWNER, [one], 0.0) == []
    assert pods.seen_as_deleting(one).metadata.deletion_timestamp
    delete, event = pods.reconcile("delete/default/p", 0.0).actions
    assert isinstance(delete, Delete)
    assert isinstance(event, RecordEvent)
    assert (delete.uid, event.message) == ("uid-p", "Deleted pod: p")
    seen(cache, "default/p", deletionTimestamp="2026-01-01T00:00:00Z")
    pods.creating(OWNER.key, 1.0)
    assert not pods.is_deleting(one)


def test_namesake_is_not_deleted() -> None:
    pods, cache = control()
    pods.delete(OWNER, [seen(cache, "default/p")], 0.0)
    seen(cache, "default/p", uid="another")
    assert pods.reconcile("delete/default/p", 0.0).actions == ()


def test_failed_deletion_is_told_unless_the_pod_is_gone() -> None:
    pods, cache = control()
    pods.delete(OWNER, [seen(cache, "default/p"), seen(cache, "default/q")], 0.0)
    pods.gave_up("delete/default/p", FORBIDDEN, 0.0)
    pods.gave_up("delete/default/q", not_found(GroupResource("", "pods"), "q"), 0.0)
    assert [failure.message for failure in pods.failures(OWNER.key)] == ["Error deleting: no"]


def test_what_is_never_seen_is_forgotten_after_five_minutes() -> None:
    pods, cache = control()
    pods.create(OWNER, [body()], 0.0)
    pods.delete(OWNER, [seen(cache, "default/p")], 0.0)
    assert len(pods.creating(OWNER.key, 299.0)) == 1
    assert pods.creating(OWNER.key, 300.0) == []
    assert (pods._creating, pods._deleting, pods._by_owner) == ({}, {}, {})


def test_pod_that_went_before_it_was_seen_is_missed_after_two_looks() -> None:
    pods, _ = control()
    key = keys(pods.create(OWNER, [body()], 0.0), "create/")[0]
    assert len(pods.reconcile(key, 0.0).actions) == 2
    assert pods.with_late(DONE, OWNER.key, 0.5).wakes == [(LATE, 1.0)]
    assert pods.reconcile(LATE, 1.0).wakes == ((OWNER.key, 1.0),)
    other = Result(wakes=[("other", 9.0), (LATE, 1.5)])
    assert pods.with_late(other, OWNER.key, 1.0).wakes == [("other", 9.0), (key, 1.0), (LATE, 2.0)]
    assert pods.reconcile(key, 1.0) == DONE
    # An owner that looks at its pods all the time does not hurry it.
    assert pods.with_late(DONE, OWNER.key, 1.5).wakes == [(LATE, 2.0)]
    assert len(pods.creating(OWNER.key, 1.5)) == 1
    assert pods.with_late(DONE, OWNER.key, 2.0).wakes == [(key, 2.0), (LATE, 3.0)]
    assert pods.reconcile(key, 2.0).wakes == ((OWNER.key, 2.0),)
    assert pods.creating(OWNER.key, 2.0) == []
    assert pods.with_late(DONE, OWNER.key, 2.0) == DONE


def test_owner_that_has_seen_its_pods_does_not_look_for_them_later() -> None:
    pods, cache = control()
    wakes = pods.create(OWNER, [body()], 0.0)
    assert wakes[1:] == [(LATE, 1.0)]
    pods.reconcile(wakes[0][0], 0.0)
    seen(cache, wakes[0][0].partition("/")[2])
    pods.creating(OWNER.key, 0.1)
    assert pods.reconcile(LATE, 1.0) == DONE


def test_owner_looks_again_after_a_failure_also_after_one_that_is_not_told() -> None:
    going = ApiError(403, "Forbidden", "x", causes=[Cause(reason="NamespaceTerminating")])
    for error in (FORBIDDEN, going):
        pods, _ = control()
        key = keys(pods.create(OWNER, [body()], 0.0), "create/")[0]
        pods.gave_up(key, error, 0.0)
        assert pods.reconcile(LATE, 1.0).wakes == ((OWNER.key, 1.0),)


def test_pod_that_is_seen_late_is_not_missed() -> None:
    pods, cache = control()
    key = keys(pods.create(OWNER, [body()], 0.0), "create/")[0]
    pods.reconcile(key, 0.0)
    pods.reconcile(key, 1.0)
    seen(cache, key.partition("/")[2])
    assert pods.reconcile(key, 2.0) == DONE
    assert pods.creating(OWNER.key, 2.0) == []
    assert pods.with_late(DONE, OWNER.key, 2.0) == DONE


def test_owner_that_is_gone_leaves_nothing_behind() -> None:
    pods, cache = control()
    pods.create(OWNER, [body()], 0.0)
    pods.delete(OWNER, [seen(cache, "default/p")], 0.0)
    pods.forget(OWNER.key)
    assert (pods._creating, pods._deleting, pods._by_owner, pods._paces, pods._counters) == ({}, {}, {}, {}, {})
    assert pods.reconcile("create/default/x", 0.0).actions == ()


def test_pod_body_lays_over_the_template() -> None:
    template = {"metadata": {"labels": {"a": "1"}, "finalizers": ["f"]}, "spec": {"x": 1, "y": 2}}
    made = pod_body(
        template, owner={"uid": "u"}, generate_name="g-", labels={"b": "2"}, finalizers=("h",), spec={"y": 3}
    )
    assert made["metadata"] == {
        "ownerReferences": [{"uid": "u"}],
        "generateName": "g-",
        "labels": {"a": "1", "b": "2"},
        "finalizers": ["f", "h"],
    }
    assert made["spec"] == {"x": 1, "y": 3}
    assert template["spec"] == {"x": 1, "y": 2}
