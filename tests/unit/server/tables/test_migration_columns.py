"""What `kubectl get storageversions` and `storageversionmigrations` show."""

from typing import Any

import pytest

from doorman.server.tables.migration_columns import MIGRATION_COLUMNS

VERSIONS = MIGRATION_COLUMNS["storageversions.internal.apiserver.k8s.io"]
MIGRATIONS = MIGRATION_COLUMNS["storageversionmigrations.storagemigration.k8s.io"]


def servers(count: int) -> list[dict[str, str]]:
    return [{"apiServerID": f"s{number}", "encodingVersion": f"v{number + 1}"} for number in range(count)]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ["<unset>", "<unset>"]),
        ({"commonEncodingVersion": "v1", "storageVersions": servers(1)}, ["v1", "s0=v1"]),
        ({"storageVersions": servers(3)}, ["<unset>", "s0=v1,s1=v2,s2=v3"]),
        ({"storageVersions": servers(5)}, ["<unset>", "s0=v1,s1=v2,s2=v3 + 2 more..."]),
    ],
)
def test_versions(status: dict[str, Any], expected: list[str]) -> None:
    doc = {"metadata": {"name": "apps.pods"}, "status": status}
    assert [column.cell(doc, 0.0) for column in VERSIONS[1:3]] == expected


@pytest.mark.parametrize(
    ("resource", "conditions", "expected"),
    [
        ({"group": "apps", "resource": "deployments"}, {}, ["deployments.apps", "Unknown"]),
        ({"resource": "pods"}, {"Running": "True"}, ["pods", "Running"]),
        ({"resource": "pods"}, {"Running": "False"}, ["pods", "Unknown"]),
        ({"resource": "pods"}, {"Running": "False", "Succeeded": "True"}, ["pods", "Succeeded"]),
        ({"resource": "pods"}, {"Failed": "True"}, ["pods", "Failed"]),
        ({"resource": "pods"}, {"Other": "True"}, ["pods", "Unknown"]),
    ],
)
def test_migrations(resource: dict[str, str], conditions: dict[str, str], expected: list[str]) -> None:
    told = [{"type": kind, "status": status} for kind, status in conditions.items()]
    doc = {"metadata": {"name": "m"}, "spec": {"resource": resource}, "status": {"conditions": told}}
    assert [column.cell(doc, 0.0) for column in MIGRATIONS[1:]] == expected
