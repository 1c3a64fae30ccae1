"""Whether what a request says and what it is about are the same object."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.base.errors import ApiError
from doorman.registry.object_identity import (
    check_identity,
    check_name,
    check_unborn,
    drop_repeated_owners,
    settle_namespace,
)
from doorman.registry.write_target import WriteTarget

PODS = builtin_kinds().named("pods")
NODES = builtin_kinds().named("nodes")
LEASES = builtin_kinds().named("leases.coordination.k8s.io")
STORED = {"name": "a", "namespace": "d", "uid": "u", "resourceVersion": "7"}


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({}, "the name of the object (a based on URL) was undeterminable"),
        ({"name": "b"}, "the name of the object (b) does not match the name on the URL (a)"),
    ],
)
def test_name_is_the_paths(metadata: dict[str, Any], words: str) -> None:
    check_name({"name": "a"}, "a")
    with pytest.raises(ApiError, match="the name of the object") as refused:
        check_name(metadata, "a")
    assert (refused.value.code, words in refused.value.message) == (400, True)


def test_namespace_is_the_paths_and_nodes_have_none() -> None:
    pod: dict[str, Any] = {}
    settle_namespace(PODS, "d", pod)
    assert pod == {"namespace": "d"}
    node = {"namespace": "d"}
    settle_namespace(NODES, "", node)
    assert node == {}
    with pytest.raises(ApiError, match="does not match the namespace sent on the request"):
        settle_namespace(PODS, "d", {"namespace": "e"})


def test_object_that_is_gone_is_not_made_by_who_means_that_one() -> None:
    target = WriteTarget(LEASES, "d", "a")
    check_unborn(target, {"name": "a", "resourceVersion": "7"})
    with pytest.raises(ApiError) as refused:
        check_unborn(target, {"name": "a", "uid": "u"})
    assert refused.value.code == 409
    assert "Key: /registry/leases/d/a" in refused.value.message
    assert refused.value.message.endswith("UID in precondition: u, UID in object meta: ")


@pytest.mark.parametrize(
    ("metadata", "code", "words"),
    [
        pytest.param({}, 0, "", id="any version"),
        pytest.param({"resourceVersion": "7", "uid": "u"}, 0, "", id="the stored one"),
        pytest.param({"resourceVersion": "6"}, 409, "please apply your changes to the latest version", id="an old one"),
        pytest.param({"uid": "v"}, 409, "UID in precondition: v, UID in object meta: u", id="another object"),
        pytest.param({"resourceVersion": "x"}, 500, 'parsing "x": invalid syntax', id="no number"),
        pytest.param({"resourceVersion": str(2**64)}, 500, "value out of range", id="too large a number"),
    ],
)
def test_update_is_of_the_version_that_is_stored(metadata: dict[str, Any], code: int, words: str) -> None:
    given = {"name": "a", **metadata}
    if not code:
        check_identity(WriteTarget(PODS, "d", "a"), given, STORED, is_unconditional=False)
        return
    with pytest.raises(ApiError) as refused:
        check_identity(WriteTarget(PODS, "d", "a"), given, STORED, is_unconditional=False)
    assert (refused.value.code, words in refused.value.message) == (code, True), refused.value.message


def test_some_kinds_want_to_be_told_the_version() -> None:
    with pytest.raises(ApiError, match="must be specified for an update"):
        check_identity(WriteTarget(LEASES, "d", "a"), {"name": "a"}, STORED, is_unconditional=False)
    check_identity(WriteTarget(LEASES, "d", "a"), {"name": "a"}, STORED, is_unconditional=True)


@pytest.mark.parametrize(("is_patched", "words"), [(False, "duplicate entries;"), (True, "after mutating admission")])
def test_owner_that_is_named_twice_is_kept_once(is_patched: bool, words: str) -> None:
    owner, other = {"uid": "1", "name": "x"}, {"uid": "2", "name": "y"}
    metadata = {"ownerReferences": [owner, other, dict(owner), dict(owner)]}
    warnings: list[str] = []
    drop_repeated_owners(metadata, warnings, is_patched=is_patched)
    assert metadata["ownerReferences"] == [owner, other]
    assert len(warnings) == 1
    assert words in warnings[0]
    assert warnings[0].endswith("duplicate UID(s) observed: 1, 1")
