"""A kind of one's own, from its definition to its end, with the real kubectl."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server
from support.widgets import widget, widget_definition

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, "--nodes", "0") as running:
        created = running.kubectl("create", "-f", "-", stdin=json.dumps(widget_definition()))
        assert created.stdout == "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created\n", created
        waited = running.kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
        assert waited.returncode == 0, waited.stderr
        yield running


def test_custom_object_lives_as_any_other(server: Server) -> None:
    applied = server.kubectl("apply", "-f", "-", stdin=json.dumps(widget("one")))
    assert applied.stdout == "widget.example.com/one created\n", applied.stderr
    shown = server.kubectl("get", "wd").stdout.splitlines()
    assert shown[0].split() == ["NAME", "SIZE", "READY", "AGE"]
    assert shown[1].split()[:2] == ["one", "small"]
    ready = '{"status": {"replicas": 2, "conditions": [{"type": "Ready", "status": "True"}]}}'
    patched = server.kubectl("patch", "widget", "one", "--subresource=status", "--type=merge", "-p", ready)
    assert patched.returncode == 0, patched.stderr
    assert server.kubectl("get", "wd", "one", "--no-headers").stdout.split()[:3] == ["one", "small", "True"]
    scaled = server.kubectl("scale", "widget/one", "--replicas=3")
    assert scaled.stdout == "widget.example.com/one scaled\n", scaled.stderr
    found = json.loads(server.kubectl("get", "widget", "one", "-o", "json").stdout)
    assert found["spec"]["replicas"] == 3
    assert found["metadata"]["generation"] == 2
    again = server.kubectl("apply", "-f", "-", stdin=json.dumps(widget("one", size="large")))
    assert again.stdout == "widget.example.com/one configured\n", again.stderr
    listed = server.kubectl("get", "all", "--no-headers", "-o", "name").stdout
    assert "widget.example.com/one" in listed


def test_server_side_apply_merges_keyed_lists(server: Server) -> None:
    first = widget("one", ports=[{"name": "a"}])
    other = widget("one", ports=[{"name": "b", "port": 81}])
    del other["spec"]["size"]
    for manager, body in (("one", first), ("two", other)):
        done = server.kubectl("apply", "--server-side", f"--field-manager={manager}", "-f", "-", stdin=json.dumps(body))
        assert done.returncode == 0, done.stderr
    found = json.loads(server.kubectl("get", "widget", "one", "-o", "json").stdout)
    assert found["spec"]["ports"] == [{"name": "a", "port": 80}, {"name": "b", "port": 81}]


def test_explain_and_api_resources_know_the_kind(server: Server) -> None:
    explained = server.kubectl("explain", "widget.spec.size")
    assert explained.returncode == 0, explained.stderr
    assert "How big it is." in explained.stdout
    listed = server.kubectl("api-resources", "--api-group=example.com", "--no-headers").stdout.split()
    assert listed == ["widgets", "wd", "example.com/v1", "true", "Widget"]


def test_schema_is_enforced(server: Server) -> None:
    refused = server.kubectl("create", "-f", "-", stdin=json.dumps(widget("one", size="huge", replicas=10)))
    assert refused.returncode == 1
    assert 'spec.size: Unsupported value: "huge": supported values: "small", "large"' in refused.stderr
    assert "spec.replicas in body should be less than or equal to 9" in refused.stderr
    unknown = server.kubectl("create", "-f", "-", stdin=json.dumps(widget("one", nope=1)))
    assert 'unknown field "spec.nope"' in unknown.stderr


def test_deleted_definition_takes_its_objects_along(server: Server) -> None:
    server.kubectl("create", "-f", "-", stdin=json.dumps(widget("one")))
    deleted = server.kubectl("delete", "crd", "widgets.example.com", "--timeout=20s")
    assert deleted.returncode == 0, deleted.stderr
    assert "NotFound" in server.kubectl("get", "--raw", "/apis/example.com/v1").stderr
    assert server.kubectl("create", "-f", "-", stdin=json.dumps(widget_definition())).returncode == 0
    server.kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
    assert "No resources found" in server.kubectl("get", "widgets").stderr


def test_deleted_namespace_takes_custom_objects_along(server: Server) -> None:
    server.kubectl("create", "namespace", "short")
    server.kubectl("create", "-n", "short", "-f", "-", stdin=json.dumps(widget("one")))
    deleted = server.kubectl("delete", "namespace", "short", "--timeout=30s")
    assert deleted.returncode == 0, deleted.stderr
    assert server.kubectl("get", "widgets", "-A", "--no-headers").stdout == ""
