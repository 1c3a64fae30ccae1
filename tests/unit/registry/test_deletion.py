"""What DELETE does, rule by rule."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.base.errors import ApiError
from doorman.base.instants import from_time, to_time
from doorman.registry.deletion import (
    DeleteOptions,
    Keep,
    Mark,
    Preconditions,
    Remove,
    check_options,
    check_preconditions,
    decide_delete,
)

NOW = from_time("2026-01-01T00:00:00Z")
KINDS = builtin_kinds()
PODS, JOBS, CONFIGS = KINDS.named("pods"), KINDS.named("jobs.batch"), KINDS.named("configmaps")
EVENTS, DEFINITIONS = KINDS.named("events"), KINDS.named("customresourcedefinitions.apiextensions.k8s.io")


def pod(*, node: str = "n", phase: str = "Running", **metadata: Any) -> Any:
    return {
        "metadata": {"name": "p", "uid": "u", "resourceVersion": "5", "generation": 1, **metadata},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("doc", "grace", "expected"),
    [
        pytest.param(pod(), None, 30, id="its-own-grace"),
        pytest.param(pod(), 5, 5, id="wished-grace"),
        pytest.param(pod(), -1, 1, id="negative-is-one"),
        pytest.param(pod(), 0, None, id="none-removes"),
        pytest.param(pod(node=""), None, None, id="unscheduled"),
        pytest.param(pod(phase="Succeeded"), None, None, id="succeeded"),
        pytest.param(pod(phase="Failed"), None, None, id="failed"),
        pytest.param(pod(finalizers=["a/b"]), 0, 0, id="finalizers-hold"),
    ],
)
def test_first_delete_of_a_pod(doc: Any, grace: int | None, expected: int | None) -> None:
    outcome = decide_delete(PODS, doc, DeleteOptions(grace_period_seconds=grace), NOW)
    if expected is None:
        assert isinstance(outcome, Remove)
        assert outcome.last is not None
        metadata = outcome.last["metadata"]
    else:
        assert isinstance(outcome, Mark)
        metadata = outcome.doc["metadata"]
    assert metadata["deletionTimestamp"] == to_time(NOW + (expected or 0))
    assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (expected or 0, 2)
    assert "deletionTimestamp" not in doc["metadata"], "the given document is not changed"


@pytest.mark.parametrize(
    ("grace", "later", "expected"),
    [
        pytest.param(None, 0, Keep(), id="not-given"),
        pytest.param(30, 0, Keep(), id="the-same"),
        pytest.param(60, 0, Keep(), id="longer"),
        pytest.param(0, 0, (0, 0), id="at-once"),
        pytest.param(10, 0, (10, 10), id="shorter"),
        pytest.param(10, 20, (20, 1), id="shorter-than-has-passed"),
    ],
)
def test_pod_deleted_again(grace: int | None, later: int, expected: Any) -> None:
    doc = pod(deletionTimestamp=to_time(NOW + 30), deletionGracePeriodSeconds=30)
    outcome = decide_delete(PODS, doc, DeleteOptions(grace_period_seconds=grace), NOW + later)
    if not isinstance(outcome, Keep):
        marked = outcome.doc if isinstance(outcome, Mark) else outcome.last
        assert marked is not None
        metadata = marked["metadata"]
        due, left = expected
        assert isinstance(outcome, Mark) == (left > 0)
        assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (to_time(NOW + due), left)
    else:
        assert outcome == expected


def test_pod_that_goes_at_once_and_that_nobody_looks_at() -> None:
    at_once = DeleteOptions(grace_period_seconds=0)
    for doc in (pod(), pod(deletionTimestamp=to_time(NOW + 30), deletionGracePeriodSeconds=30)):
        assert decide_delete(PODS, doc, at_once, NOW, is_shown=False) == Remove()


def plain(**metadata: Any) -> Any:
    return {"metadata": {"name": "x", "uid": "u", "resourceVersion": "5", **metadata}}


@pytest.mark.parametrize(
    ("kind", "metadata", "options", "finalizers"),
    [
        pytest.param(CONFIGS, {}, {}, None, id="background-by-default"),
        pytest.param(CONFIGS, {}, {"propagation_policy": "Foreground"}, ["foregroundDeletion"], id="foreground"),
        pytest.param(CONFIGS, {}, {"propagation_policy": "Orphan"}, ["orphan"], id="orphan"),
        pytest.param(CONFIGS, {}, {"orphan_dependents": True}, ["orphan"], id="old-orphan"),
        pytest.param(CONFIGS, {"finalizers": ["orphan"]}, {}, ["orphan"], id="as-the-object-says"),
        pytest.param(
            CONFIGS, {"finalizers": ["orphan"]}, {"propagation_policy": "Background"}, None, id="policy-over-object"
        ),
        pytest.param(CONFIGS, {"finalizers": ["a/b"]}, {}, ["a/b"], id="others-stay"),
        pytest.param(JOBS, {}, {}, ["orphan"], id="jobs-orphan-by-default"),
        pytest.param(JOBS, {}, {"propagation_policy": "Background"}, None, id="jobs-unless-told"),
        pytest.param(EVENTS, {}, {"propagation_policy": "Foreground"}, None, id="events-have-no-dependents"),
        pytest.param(
            DEFINITIONS, {}, {}, ["customresourcecleanup.apiextensions.k8s.io"], id="definitions-wait-for-objects"
        ),
    ],
)
def test_finalizers_after_delete(kind: Any, metadata: Any, options: Any, finalizers: list[str] | None) -> None:
    outcome = decide_delete(kind, plain(**metadata), DeleteOptions(**options), NOW)
    if finalizers is None:
        assert outcome == Remove()
    else:
        assert isinstance(outcome, Mark)
        assert outcome.doc["metadata"]["finalizers"] == finalizers


def test_marked_object_with_finalizers_stays_as_it_is() -> None:
    doc = plain(finalizers=["a/b"], deletionTimestamp=to_time(NOW), deletionGracePeriodSeconds=0)
    assert decide_delete(CONFIGS, doc, DeleteOptions(), NOW + 5) == Keep()


def test_definition_says_that_it_is_going() -> None:
    outcome = decide_delete(DEFINITIONS, plain(), DeleteOptions(), NOW)
    assert isinstance(outcome, Mark)
    (condition,) = outcome.doc["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Terminating", "InstanceDeletionPending")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"propagation_policy": "Sideways"}, "Unsupported value", id="policy"),
        pytest.param({"propagation_policy": "Orphan", "orphan_dependents": True}, "cannot be both set", id="both"),
        pytest.param({"dry_run": ("Some",)}, "dryRun", id="dry-run"),
    ],
)
def test_options_refused(options: Any, words: str) -> None:
    with pytest.raises(ApiError, match=words) as error:
        check_options(DeleteOptions(**options))
    assert error.value.code == 422


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        pytest.param(Preconditions(uid="other"), "the UID in the precondition", id="uid"),
        pytest.param(Preconditions(resource_version="4"), "the ResourceVersion in the precondition", id="version"),
    ],
)
def test_preconditions_refused(wanted: Preconditions, words: str) -> None:
    with pytest.raises(ApiError, match=words) as error:
        check_preconditions(CONFIGS, "x", plain(), wanted)
    assert error.value.code == 409


def test_events_of_both_groups_are_refused_as_one_kind() -> None:
    kind = next(row for row in builtin_kinds().rows if row.conversion == "events.events.k8s.io/v1")
    with pytest.raises(ApiError, match='Operation cannot be fulfilled on Event "x"'):
        check_preconditions(kind, "x", plain(), Preconditions(uid="other"))


def test_preconditions_that_hold() -> None:
    check_preconditions(CONFIGS, "x", plain(), Preconditions(uid="u", resource_version="5"))
