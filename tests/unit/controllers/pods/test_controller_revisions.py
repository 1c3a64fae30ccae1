"""Templates a workload has had."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import ControllerRevision
from doorman.api.views.meta import ObjectMeta
from doorman.client.actions import Create, Delete, Patch
from doorman.controllers.pods.controller_revisions import decide_cleanup, decide_history, revision_data, template_hash

OWNER = ObjectMeta(namespace="a", name="d", uid="u", annotations={"kubernetes.io/change-cause": "because"})
ONE: dict[str, Any] = {"metadata": {"labels": {"app": "d"}}, "spec": {"image": 1}}
TWO: dict[str, Any] = {"metadata": {"labels": {"app": "d"}}, "spec": {"image": 2}}


def revision(template: dict[str, Any], number: int, name: str = "") -> ControllerRevision:
    label = template_hash(template)
    meta = {"name": name or f"d-{label}", "namespace": "a", "labels": {"controller-revision-hash": label}}
    return msgspec.convert({"metadata": meta, "data": revision_data(template), "revision": number}, ControllerRevision)


def test_new_template_is_stored_with_the_next_number() -> None:
    history = decide_history(OWNER, TWO, 0, [revision(ONE, 4)], reference={"uid": "u"})
    create = history.actions[0]
    assert isinstance(create, Create)
    assert create.body["revision"] == history.revision == 5
    assert create.body["metadata"]["name"] == f"d-{history.hash}"
    assert create.body["metadata"]["labels"] == {"app": "d", "controller-revision-hash": history.hash}
    assert create.body["metadata"]["annotations"] == {"kubernetes.io/change-cause": "because"}
    assert create.body["data"] == {"spec": {"template": {**TWO, "$patch": "replace"}}}
    assert not history.collided


def test_members_are_stored_in_the_order_in_which_kubectl_writes_them_to_compare() -> None:
    template = {"spec": {"b": 1, "a": [{"d": 2, "c": 3}]}, "metadata": {}}
    create = decide_history(OWNER, template, 0, [], reference={}).actions[0]
    assert isinstance(create, Create)
    stored = msgspec.json.encode(create.body["data"])
    assert stored == b'{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{"a":[{"c":3,"d":2}],"b":1}}}}'


def test_present_template_is_not_stored_again() -> None:
    history = decide_history(OWNER, TWO, 0, [revision(ONE, 1), revision(TWO, 2)], reference={})
    assert (history.hash, history.revision, history.actions) == (template_hash(TWO), 2, ())


def test_earlier_template_is_numbered_anew() -> None:
    history = decide_history(OWNER, ONE, 0, [revision(ONE, 1), revision(TWO, 2)], reference={})
    patch = history.actions[0]
    assert isinstance(patch, Patch)
    assert (patch.body, history.revision) == ({"revision": 3}, 3)


def test_another_template_under_the_same_name_is_a_collision() -> None:
    taken = revision(ONE, 1, name=f"d-{template_hash(TWO)}")
    assert decide_history(OWNER, TWO, 0, [taken], reference={}).collided
    assert not decide_history(OWNER, TWO, 1, [taken], reference={}).collided


@pytest.mark.parametrize(
    ("limit", "carried", "deleted"),
    [
        pytest.param(3, set(), [], id="within-the-limit"),
        pytest.param(1, set(), [1, 2], id="4-oldest-first"),
        pytest.param(1, {1}, [2, 3], id="4-carried-ones-stay"),
        pytest.param(0, {1, 2, 3}, [], id="4-all-carried"),
    ],
)
def test_cleanup(limit: int, carried: set[int], deleted: list[int]) -> None:
    revisions = [revision({"spec": number}, number) for number in (3, 1, 2, 4)]
    hashes = {template_hash({"spec": number}) for number in carried}
    current = f"d-{template_hash({'spec': 4})}"
    actions = decide_cleanup(revisions, limit, current=current, carried=hashes)
    names = [f"d-{template_hash({'spec': number})}" for number in deleted]
    assert [action.name for action in actions if isinstance(action, Delete)] == names
