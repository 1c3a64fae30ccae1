"""Options of a request: what they make of the caller, and which are refused."""

from typing import Any

import pytest

from doorman.api.identity import ADMIN
from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.well_known import MERGE_PATCH
from doorman.base.errors import ApiError
from doorman.registry.patch_transforms import APPLY_PATCH
from doorman.server.request import Query, Request, RequestInfo
from doorman.server.request_context import JOB_PODS_STAY, RequestContext, caller_of, delete_options_of


def call(
    query: str = "", *, body: bytes = b"", agent: str = "kubectl/v1.37.0 (linux)", resource: str = "nodes"
) -> RequestContext:
    request = Request(method="POST", path="/api/v1/nodes", query=Query(query), headers={"user-agent": agent}, body=body)
    info = RequestInfo(is_resource=True, path="", verb="create", version="v1", resource="nodes")
    return RequestContext(request=request, info=info, user=ADMIN, kind=builtin_kinds().named(resource), warnings=[])


@pytest.mark.parametrize(
    ("query", "agent", "manager"),
    [
        pytest.param("fieldManager=me", "kubectl/v1", "me", id="as-said"),
        pytest.param("", "kubectl/v1.37.0 (linux)", "kubectl", id="by-agent"),
        pytest.param("", "", "unknown", id="nobody"),
        pytest.param("", "\x07bell/1", "bell", id="only-what-can-be-read"),
    ],
)
def test_manager(query: str, agent: str, manager: str) -> None:
    assert caller_of(call(query, agent=agent), "CreateOptions").manager == manager


@pytest.mark.parametrize(
    ("query", "patch_type", "field"),
    [
        pytest.param("dryRun=Some", "", "dryRun", id="dry-run"),
        pytest.param("", APPLY_PATCH, "fieldManager", id="apply-without-manager"),
        pytest.param("force=true", MERGE_PATCH, "force", id="force-without-apply"),
        pytest.param("fieldManager=" + "m" * 129, "", "fieldManager", id="long-manager"),
        pytest.param("fieldManager=a%07b", "", "fieldManager", id="unreadable-manager"),
    ],
)
def test_wrong_options(query: str, patch_type: str, field: str) -> None:
    with pytest.raises(ApiError) as refused:
        caller_of(call(query), "PatchOptions", patch_type=patch_type)
    assert (refused.value.code, [cause.field for cause in refused.value.causes]) == (422, [field])


@pytest.mark.parametrize(
    ("query", "body", "seconds"),
    [
        pytest.param("gracePeriodSeconds=5", b"", 5, id="query"),
        pytest.param("gracePeriodSeconds=5", b'{"gracePeriodSeconds": 7}', 7, id="body-counts"),
        pytest.param("", b"", None, id="neither"),
    ],
)
def test_delete_options(query: str, body: bytes, seconds: Any) -> None:
    found = delete_options_of(call(query, body=body), Schema(type_table()))
    assert found.grace_period_seconds == seconds


@pytest.mark.parametrize(
    ("query", "body", "is_dry"),
    [
        pytest.param("dryRun=All", b"", True, id="query"),
        pytest.param("", b'{"dryRun": ["All"]}', True, id="body"),
        pytest.param("dryRun=All", b"{}", False, id="query-means-nothing-beside-a-body"),
        pytest.param("dryRun=Some", b"{}", False, id="not-even-when-it-is-wrong"),
    ],
)
def test_deletion_is_a_dry_run_as_its_options_say(query: str, body: bytes, is_dry: bool) -> None:
    asked = call(query, body=body)
    given = delete_options_of(asked, Schema(type_table()))
    assert caller_of(asked, "DeleteOptions", given=given).dry_run is is_dry


@pytest.mark.parametrize(
    ("resource", "query", "body", "warnings"),
    [
        pytest.param("jobs.batch", "", b"", [JOB_PODS_STAY], id="job"),
        pytest.param("jobs.batch", "", b'{"gracePeriodSeconds": 0}', [JOB_PODS_STAY], id="job-by-body"),
        pytest.param("jobs.batch", "propagationPolicy=Orphan", b"", [], id="job-orphan-meant"),
        pytest.param("jobs.batch", "", b'{"propagationPolicy": "Background"}', [], id="job-background"),
        pytest.param("jobs.batch", "orphanDependents=true", b"", [], id="job-in-the-old-way"),
        pytest.param("replicationcontrollers", "", b"", [], id="others-are-not-told"),
    ],
)
def test_who_deletes_a_job_and_not_its_pods_is_warned(
    resource: str, query: str, body: bytes, warnings: list[str]
) -> None:
    one = call(query, body=body, resource=resource)
    delete_options_of(one, Schema(type_table()))
    assert one.warnings == warnings


def test_delete_options_of_another_kind_are_refused() -> None:
    with pytest.raises(ApiError, match='no kind "Pod" is registered'):
        delete_options_of(call(body=b'{"kind": "Pod"}'), Schema(type_table()))
