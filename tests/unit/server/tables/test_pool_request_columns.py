"""What `kubectl get resourcepoolstatusrequests` shows."""

from typing import Any

import pytest

from doorman.base.instants import from_time
from doorman.server.tables.pool_request_columns import POOL_REQUEST_COLUMNS

NOW = from_time("2026-01-01T00:01:00Z")
POOLS = [
    {"totalDevices": 4, "availableDevices": 3, "allocatedDevices": 1},
    {"totalDevices": 2, "unavailableDevices": 2, "validationError": "generations differ"},
]


def condition(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, ["-", "-", "-", "-", "-", 0, "Pending", "<none>"]),
        ({"pools": POOLS, "poolCount": 2, "conditions": [condition("Complete")]},
         ["6", "3", "1", "2", "1", 2, "Complete", "60s"]),
        ({"pools": POOLS, "poolCount": 9, "conditions": [condition("Complete")]},
         ["6", "3", "1", "2", "1", 9, "Complete (2/9 pools)", "60s"]),
        ({"conditions": [condition("Failed")]}, ["-", "-", "-", "-", "-", 0, "Failed", "<none>"]),
    ],
)  # fmt: skip
def test_cells(status: dict[str, Any] | None, expected: list[Any]) -> None:
    doc: dict[str, Any] = {"metadata": {"name": "r"}, "spec": {"driver": "d.example.com"}}
    if status is not None:
        doc["status"] = status
    assert [column.cell(doc, NOW) for column in POOL_REQUEST_COLUMNS] == ["r", "d.example.com", *expected]
