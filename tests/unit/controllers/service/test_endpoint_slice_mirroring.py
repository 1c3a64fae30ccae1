"""Slices of Endpoints that people write."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.services import Endpoints, EndpointSlice, Service
from doorman.client.actions import Create, Delete, Update
from doorman.client.informer_cache import InformerCache
from doorman.controllers.service.endpoint_slice_mirroring import (
    LEADER,
    MANAGER,
    SKIP,
    EndpointSliceMirroringController,
    decide_mirrored,
    decide_slices,
)

PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}]
SUBSET = {"addresses": [{"ip": "10.1.2.3"}], "notReadyAddresses": [{"ip": "10.1.2.4"}], "ports": PORTS}


def service(**selector: str) -> Service:
    return msgspec.convert({"metadata": {"name": "a", "namespace": "n"}, "spec": {"selector": selector}}, Service)


def endpoints(*subsets: Any, labels: dict[str, str] | None = None, notes: dict[str, str] | None = None) -> Endpoints:
    meta = {"name": "a", "namespace": "n", "uid": "u", "labels": labels or {}, "annotations": notes or {}}
    return msgspec.convert({"metadata": meta, "subsets": list(subsets)}, Endpoints)


def controller(*slices: EndpointSlice, given: Endpoints | None) -> EndpointSliceMirroringController:
    services: InformerCache[Any] = InformerCache({})
    services.put("n/a", service())
    written: InformerCache[Any] = InformerCache({})
    if given is not None:
        written.put("n/a", given)
    found: InformerCache[Any] = InformerCache({BY_NAMESPACE: lambda one: (one.metadata.namespace,)})
    for one in slices:
        found.put(f"n/{one.metadata.name}", one)
    return EndpointSliceMirroringController(services, written, found)


@pytest.mark.parametrize(
    ("given", "behind", "expected"),
    [
        pytest.param(endpoints(), service(), True, id="written-by-hand"),
        pytest.param(endpoints(), service(app="a"), False, id="service-selects"),
        pytest.param(endpoints(), None, False, id="no-service"),
        pytest.param(endpoints(labels={SKIP: "true"}), service(), False, id="label-says-no"),
        pytest.param(endpoints(notes={LEADER: "{}"}), service(), False, id="lock-of-an-election"),
        pytest.param(None, service(), False, id="gone"),
    ],
)
def test_what_is_mirrored(given: Endpoints | None, behind: Service | None, expected: bool) -> None:
    assert decide_mirrored(given, behind) is expected


def test_each_family_and_subset_is_a_slice() -> None:
    found = decide_slices([{**SUBSET, "addresses": [{"ip": "10.1.2.3"}, {"ip": "fd00::1"}]}, SUBSET])
    assert [one["addressType"] for one in found] == ["IPv4", "IPv6", "IPv4"]
    assert [one["conditions"]["ready"] for one in found[0]["endpoints"]] == [True, False]
    assert found[0]["ports"] == PORTS


def test_slices_are_made_updated_and_taken_away() -> None:
    (made,) = controller(given=endpoints(SUBSET)).reconcile("n/a", 0.0).actions
    assert isinstance(made, Create)
    body = {**made.body, "metadata": {**made.body["metadata"], "name": "a-1"}}
    there = msgspec.convert(body, EndpointSlice)
    assert there.metadata.labels["endpointslice.kubernetes.io/managed-by"] == MANAGER
    assert not controller(there, given=endpoints(SUBSET)).reconcile("n/a", 0.0).actions
    moved = endpoints({"addresses": [{"ip": "10.9.9.9"}], "ports": PORTS})
    (changed,) = controller(there, given=moved).reconcile("n/a", 0.0).actions
    assert isinstance(changed, Update)
    assert changed.body["endpoints"][0]["addresses"] == ["10.9.9.9"]
    (deleted,) = controller(there, given=None).reconcile("n/a", 0.0).actions
    assert isinstance(deleted, Delete)
