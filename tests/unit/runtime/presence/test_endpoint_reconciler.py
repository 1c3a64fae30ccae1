"""Where the service `kubernetes` leads when several servers serve one etcd."""

from typing import Any

import pytest

from doorman.runtime.defaults.default_objects import api_endpoints
from doorman.runtime.presence.endpoint_reconciler import decide_change

SLICE = "endpointslices.discovery.k8s.io"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param(["10.0.0.1"], ["10.0.0.1"], [], id="as-it-should-be"),
        pytest.param(["10.0.0.1"], ["10.0.0.1", "10.0.0.2"], ["10.0.0.1", "10.0.0.2"], id="one-more"),
        pytest.param(["10.0.0.1", "10.0.0.2"], ["10.0.0.2"], ["10.0.0.2"], id="one-is-gone"),
    ],
)
def test_change(before: list[str], after: list[str], changed: list[str]) -> None:
    found, wanted = api_endpoints(before, 6443), api_endpoints(after, 6443)
    change = decide_change(found["endpoints"], wanted["endpoints"], ("subsets",))
    assert [one["ip"] for subset in change.get("subsets", []) for one in subset["addresses"]] == changed
    change = decide_change(found[SLICE], wanted[SLICE], ("endpoints", "ports"))
    assert [address for one in change.get("endpoints", []) for address in one["addresses"]] == changed


def test_last_one_that_goes_leaves_no_endpoint() -> None:
    wanted = api_endpoints([], 6443)
    change = decide_change(api_endpoints(["10.0.0.1"], 6443)["endpoints"], wanted["endpoints"], ("subsets",))
    assert change == {"subsets": []}
    assert decide_change({"metadata": wanted["endpoints"]["metadata"]}, wanted["endpoints"], ("subsets",)) == {}


def test_other_port_and_missing_label_are_mended() -> None:
    found: dict[str, Any] = {**api_endpoints(["10.0.0.1"], 1)["endpoints"], "metadata": {"name": "kubernetes"}}
    change = decide_change(found, api_endpoints(["10.0.0.1"], 6443)["endpoints"], ("subsets",))
    assert change["subsets"][0]["ports"][0]["port"] == 6443
    assert change["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}


def test_slice_is_of_one_family() -> None:
    mixed, newer = api_endpoints(["10.0.0.1", "fd00::1"], 1)[SLICE], api_endpoints(["fd00::1"], 1)[SLICE]
    assert (mixed["addressType"], [one["addresses"] for one in mixed["endpoints"]]) == ("IPv4", [["10.0.0.1"]])
    assert (newer["addressType"], [one["addresses"] for one in newer["endpoints"]]) == ("IPv6", [["fd00::1"]])
