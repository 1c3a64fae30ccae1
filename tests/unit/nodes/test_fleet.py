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
        pytest.param(
            {"nodes": [{"count": 2000}, {"name": "node-1500"}]}, '"node-1500" is named twice', id="twice-among-many"
        ),
        pytest.param({"nodes": [{"name": "Bad_name"}]}, r'nodes\[0\].name: "Bad_name" is no name', id="name"),
        pytest.param({"nodes": [{"prefix": "a b"}]}, r'nodes\[0\].prefix: "a b1" is no name', id="prefix"),
        pytest.param({"profiles": {"p": {"script": "silent"}}}, "profiles.p.script", id="script"),
        pytest.param({"profiles": {"p": {"startupDelay": "soon"}}}, "profiles.p.startupDelay", id="start-up"),
        pytest.param({"profiles": {"p": {"startupDelay": "-1s"}}}, "profiles.p.startupDelay", id="start-up-negative"),
        pytest.param({"profiles": {"p": {"podTermination": "soon"}}}, "profiles.p.podTermination", id="termination"),
        pytest.param({"profiles": {"p": {"conditions": "Happy=True"}}}, "profiles.p.conditions", id="conditions"),
        pytest.param({"profiles": {"p": {"capacity": {"cpu": "x"}}}}, "profiles.p.capacity.cpu", id="capacity"),
        pytest.param(
            {"profiles": {"p": {"capacity": {"cpu": "-1"}}}}, "profiles.p.capacity.cpu", id="negative-capacity"
        ),
        pytest.param({"profiles": {"p": {"labels": {"a b": "x"}}}}, "profiles.p.labels", id="label"),
        pytest.param({"profiles": {"p": {"zone": "a b"}}}, "profiles.p.labels", id="zone"),
        pytest.param(
            {"profiles": {"p": {"taints": [{"key": "a", "effect": "Foo"}]}}},
            r"profiles.p.taints\[0\].effect",
            id="taint",
        ),
        pytest.param(
            {"profiles": {"p": {"annotations": {"doorman.dev/silent": "yes"}}}}, "profiles.p.annotations", id="mark"
        ),
        pytest.param(
            {"profiles": {"p": {"annotations": {"doorman.dev/script": "x"}}}},
            "profiles.p.annotations",
            id="mark-script",
        ),
        pytest.param([1], "Expected `object`", id="no-object"),
    ],
)
def test_configuration_that_makes_no_sense(document: Any, complaint: str) -> None:
    with pytest.raises(FleetError, match=complaint):
        parse_fleet(document)


def test_numbers_may_be_written_as_such_and_conditions_hold_from_the_beginning() -> None:
    fleet = parse_fleet(
        {
            "profiles": {"p": {"capacity": {"cpu": 2, "example.com/gpu": 1}, "conditions": "DiskPressure=True"}},
            "nodes": [{"profile": "p"}],
        }
    )
    (manifest,) = fleet_manifests(fleet, now=0.0)
    assert (manifest["status"]["capacity"]["cpu"], manifest["status"]["capacity"]["example.com/gpu"]) == ("2", "1")
    assert manifest["metadata"]["annotations"]["doorman.dev/conditions"] == "DiskPressure=True"
    assert "conditions" not in manifest["status"]
