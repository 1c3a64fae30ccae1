"""The audit log: one line a request, and nothing that is secret."""

import json
import stat
from pathlib import Path

from support.api import running_api


async def test_request_is_one_line_with_who_what_and_outcome(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    async with running_api(audit_log=file) as api:
        await api.call("GET", "/api/v1/namespaces/default/pods/p?pretty=1", user="jane", headers={"audit-id": "a-1"})
        await api.call("GET", "/version", token="rubbish")
        secret = {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
        await api.call("POST", "/api/v1/namespaces/default/secrets", secret)
        await api.given_account("robot")
        token = await api.given_token("robot")
    text = file.read_text()
    refused, unauthorized, created, requested = [json.loads(line) for line in text.splitlines()]
    assert refused == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "a-1",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/default/pods/p?pretty=1",
        "verb": "get",
        "user": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
        "impersonatedUser": {"username": "jane", "groups": ["system:authenticated"]},
        "objectRef": {"resource": "pods", "namespace": "default", "name": "p", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 403},
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "stageTimestamp": "2026-01-01T00:00:00.000000Z",
        "annotations": {"authorization.k8s.io/decision": "forbid"},
    }
    assert (unauthorized["user"], unauthorized["responseStatus"]["code"]) == ({}, 401)
    assert created["objectRef"]["resource"] == "secrets"
    assert requested["objectRef"]["subresource"] == "token"
    for hidden in ("hunter2", token, "rubbish"):
        assert hidden not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
