"""Configurations of nodes."""

from typing import Any

import pytest

from doorman.nodes.fleet import FleetError, fleet_manifests, fleet_nodes, parse_fleet


def test_names_count_through_all_entries() -> None:
    fleet = parse_fleet(
        {
            "profiles": {"small": {"capacity": {"cpu": "2"}, "zone": "a"}},
            "nodes": [{"profile": "small", "count": 2}, {"count": 1}, {"name": "odd"}, {"prefix": "x-", "count": 2}],
        }
    )
    assert [name for name, _ in fleet_nodes(fleet)] == ["node-1", "node-2", "node-3", "odd", "x-1", "x-2"]
    manifests = fleet_manifests(fleet, now=0.0)
    assert [one["status"]["capacity"]["cpu"] for one in manifests] == ["2", "2", "4", "4", "4", "4"]


def test_empty_configuration_has_no_nodes() -> None:
    assert fleet_nodes(parse_fleet(None)) == []


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        pytest.param({"node": []}, "unknown field", id="unknown-field"),
        pytest.param({"nodes": [{"count": "many"}]}, "Expected `int`", id="no-number"),
        pytest.param({"nodes": [{"count": -1}]}, r"nodes\[0\].count", id="negative"),
        pytest.param({"nodes": [{"profile": "x"}]}, 'no profile "x"', id="unknown-profile"),
        pytest.param({"nodes": [{"name": "a", "count": 2}]}, "only a single node", id="name-for-many"),
        pytest.param({"nodes": [{"name": "a"}, {"name": "a"}]}, '"a" is named twice', id="twice"),
        pytest.param({"profiles": {"p": {"script": "silent"}}}, "profiles.p.script", id="script"),
        pytest.param([1], "Expected `object`", id="no-object"),
    ],
)
def test_configuration_that_makes_no_sense(document: Any, complaint: str) -> None:
    with pytest.raises(FleetError, match=complaint):
        parse_fleet(document)
