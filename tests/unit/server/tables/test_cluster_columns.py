"""What `kubectl get podcertificaterequests` shows, as Kubernetes v1.37 does."""

from typing import Any

import pytest

from doorman.server.tables.cluster_columns import CLUSTER_COLUMNS

SPEC = {"podName": "p", "serviceAccountName": "default", "nodeName": "n1", "signerName": "x.example.com/y"}


@pytest.mark.parametrize(
    ("annotations", "conditions", "shown"),
    [
        (None, [], ["Pending", "<none>"]),
        ({"example.com/c": "d", "example.com/a": "b"}, [("Denied", "True")],
         ["Denied", "example.com/a=b,example.com/c=d"]),
        (None, [("Failed", "False")], ["Pending", "<none>"]),
        (None, [("Issued", "True")], ["Issued", "<none>"]),
    ],
)  # fmt: skip
def test_pod_certificate_requests(
    annotations: dict[str, str] | None, conditions: list[tuple[str, str]], shown: list[str]
) -> None:
    doc: dict[str, Any] = {"metadata": {"name": "r"}, "spec": dict(SPEC)}
    if annotations is not None:
        doc["spec"]["unverifiedUserAnnotations"] = annotations
    doc["status"] = {"conditions": [{"type": kind, "status": status} for kind, status in conditions]}
    cells = [column.cell(doc, 0.0) for column in CLUSTER_COLUMNS["podcertificaterequests.certificates.k8s.io"]]
    assert cells == ["r", "p", "default", "n1", "x.example.com/y", *shown]
