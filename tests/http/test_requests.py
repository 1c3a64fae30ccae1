"""Small rules of the wire, one request each."""

import asyncio
from typing import Any

import pytest

from support.api import running_api

MAPS = "/api/v1/namespaces/default/configmaps"
MAP = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}


def answer(*request: Any, **more: Any) -> tuple[int, Any]:
    async def main() -> tuple[int, Any]:
        async with running_api() as api:
            await api.given("configmaps", {"metadata": {"name": "there"}}, namespace="default")
            before = api.revision
            status, body = await api.call(*request, **more)
            assert status < 400 or api.revision == before, "a refused request changes nothing"
            return status, body

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("request_", "headers", "status", "message"),
    [
        pytest.param(
            ("PATCH", MAPS + "/a?fieldManager=m", {**MAP, "metadata": {"name": "b"}}),
            APPLY,
            400,
            "the name of the object (b) does not match the name on the URL (a)",
            id="apply-creates-under-the-name-of-the-path",
        ),
        pytest.param(
            (
                "PUT",
                "/api/v1/namespaces/default/services/a",
                {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "b"}, "spec": {"ports": [{"port": 80}]}},
            ),
            {},
            400,
            "the name of the object (b) does not match the name on the URL (a)",
            id="put-creates-under-the-name-of-the-path",
        ),
        pytest.param(
            ("PATCH", MAPS + "/a?fieldManager=m", {**MAP, "metadata": {"name": "a", "uid": "u"}}),
            APPLY,
            409,
            'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid u, '
            "and no existing object was found",
            id="apply-to-an-object-that-is-gone",
        ),
        pytest.param(
            ("PATCH", MAPS + "/a?fieldManager=m", {**MAP, "bogus": 1}),
            APPLY,
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
            id="apply-of-an-unknown-field",
        ),
        pytest.param(
            ("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"),
            {},
            403,
            'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
            "this is a system priority class and cannot be deleted",
            id="the-systems-priority-classes-stay",
        ),
        pytest.param(
            ("PATCH", MAPS + "/there", {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}}),
            MERGE,
            422,
            'ConfigMap "there" is invalid: metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": '
            "field is immutable",
            id="nobody-marks-an-object-deleted-by-hand",
        ),
        pytest.param(
            ("PATCH", MAPS + "/there", "text"),
            {"content-type": "application/strategic-merge-patch+json"},
            400,
            "json: cannot unmarshal string into Go value of type map[string]interface {}",
            id="a-patch-is-an-object",
        ),
        pytest.param(
            ("GET", MAPS + "?timeoutSeconds=soon"),
            {},
            400,
            'strconv.ParseInt: parsing "soon": invalid syntax',
            id="seconds-are-a-number",
        ),
        pytest.param(
            ("GET", MAPS + "/there?export=true"),
            {},
            400,
            "the export parameter, deprecated since v1.14, is no longer supported",
            id="export",
        ),
        pytest.param(
            ("DELETE", MAPS + "/there", {"kind": "Pod", "apiVersion": "v1"}),
            {},
            400,
            'no kind "Pod" is registered for version "v1" in scheme '
            '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"',
            id="delete-with-a-pod",
        ),
        pytest.param(
            ("POST", MAPS + "?fieldManager=a%07b", MAP),
            {},
            422,
            'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\ab": '
            "invalid character U+0007 (at position 1)",
            id="manager-that-cannot-be-printed",
        ),
        pytest.param(
            ("POST", MAPS, {**MAP, "kind": "Pod"}),
            {},
            400,
            'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): '
            "unknown conversion",
            id="another-kind",
        ),
        pytest.param(
            ("POST", MAPS, {**MAP, "kind": "Foo"}),
            {},
            400,
            'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" '
            'in scheme "pkg/api/legacyscheme/scheme.go:30"',
            id="a-kind-nobody-knows",
        ),
        pytest.param(
            ("GET", "/api/v1/namespaces"),
            {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.NamespaceList)",
            id="metadata-of-a-list",
        ),
        pytest.param(
            ("DELETE", "/api/v1/watch/namespaces/default/configmaps/there"),
            {},
            405,
            "the server does not allow this method on the requested resource",
            id="only-reading-under-watch",
        ),
        pytest.param(
            ("POST", "/api/v1/namespaces/default/pods/p/exec?dryRun=All"),
            {},
            400,
            "dryRun is not supported",
            id="dry-run-of-exec",
        ),
    ],
)
def test_refused(request_: tuple[Any, ...], headers: dict[str, str], status: int, message: str) -> None:
    code, body = answer(*request_, headers=headers)
    assert (code, body["message"]) == (status, message)


def test_old_watch_path_takes_a_name() -> None:
    assert answer("GET", "/api/v1/watch/namespaces/default/configmaps/there") == (200, None)


def test_an_owner_named_twice_is_kept_once() -> None:
    status, made = answer("POST", MAPS, {**MAP, "metadata": {"name": "a", "ownerReferences": [OWNER, OWNER]}})
    assert (status, made["metadata"]["ownerReferences"]) == (201, [OWNER])


def test_a_dry_run_of_a_create_shows_no_revision() -> None:
    status, body = answer("POST", MAPS + "?dryRun=All", MAP)
    assert status == 201
    assert body["metadata"]["uid"]
    assert "resourceVersion" not in body["metadata"]


def test_scale_as_a_table() -> None:
    async def main() -> None:
        async with running_api() as api:
            labels = {"a": "b"}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
            await api.given("deployments.apps", {"metadata": {"name": "d"}, "spec": spec}, namespace="default")
            path = "/apis/apps/v1/namespaces/default/deployments/d/scale"
            accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
            status, table = await api.call("GET", path, headers={"accept": accept})
            assert status == 200
            assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
            assert table["rows"][0]["cells"][:3] == ["d", 2, 0]

    asyncio.run(main())
