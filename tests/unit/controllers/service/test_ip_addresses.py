"""An IPAddress for every address of a service."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.services import IpAddress, Service, addresses_of
from doorman.client.actions import Create, Delete
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.service.ip_addresses import (
    BY_ADDRESS,
    ServiceAddressController,
    service_keys,
)
from doorman.semantics.service_addresses import FAMILY, MANAGED_BY, MANAGER

ADDRESS = "10.96.0.7"


def service(name: str = "web", *addresses: str, **spec: Any) -> Any:
    body = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterIPs": list(addresses), **spec}}
    return msgspec.convert(body, Service)


def address(parent: str, manager: str = MANAGER, created: str = "") -> Any:
    meta = {"name": ADDRESS, "uid": "u", "labels": {MANAGED_BY: manager}, "creationTimestamp": created}
    body = {
        "metadata": meta,
        "spec": {"parentRef": {"resource": "services", "namespace": "ns", "name": parent}},
    }
    return msgspec.convert(body, IpAddress)


def controller(services: list[Any], addresses: list[Any], orphan_seconds: float = 0.0) -> ServiceAddressController:
    known: InformerCache[Any] = InformerCache({BY_ADDRESS: addresses_of})
    for one in services:
        known.put(f"ns/{one.metadata.name}", one)
    made: InformerCache[Any] = InformerCache({})
    for one in addresses:
        made.put(one.metadata.name, one)
    return ServiceAddressController(known, made, orphan_seconds=orphan_seconds)


def actions(services: list[Any], addresses: list[Any]) -> list[Any]:
    return list(controller(services, addresses).reconcile(ADDRESS, 0.0).actions)


def test_address_of_a_service_has_an_object() -> None:
    (made,) = actions([service("web", ADDRESS)], [])
    assert isinstance(made, Create)
    assert made.body == {
        "metadata": {"name": ADDRESS, "labels": {FAMILY: "IPv4", MANAGED_BY: MANAGER}},
        "spec": {"parentRef": {"resource": "services", "namespace": "ns", "name": "web"}},
    }


@pytest.mark.parametrize(
    ("services", "existing", "is_deleted"),
    [
        pytest.param([service("web", ADDRESS)], address("web"), False, id="as-it-should-be"),
        pytest.param([], address("web"), True, id="service-is-gone"),
        pytest.param([service("other", ADDRESS)], address("web"), True, id="another-one-has-it-now"),
        pytest.param([], address("web", "me"), False, id="somebody-elses"),
    ],
)
def test_object_without_its_service_goes(services: list[Any], existing: Any, is_deleted: bool) -> None:
    found = actions(services, [existing])
    assert [type(action) for action in found] == ([Delete] if is_deleted else [])


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param(None, service("web", ADDRESS), [ADDRESS], id="new"),
        pytest.param(service("web", ADDRESS), None, [ADDRESS], id="gone"),
        pytest.param(service("web", ADDRESS), service("web", ADDRESS), [], id="same"),
        pytest.param(service("web", ADDRESS), service("web", type="ExternalName"), [ADDRESS], id="given-back"),
        pytest.param(None, service("web", "None"), [], id="headless"),
    ],
)
def test_keys(old: Any, new: Any, keys: list[str]) -> None:
    change = ObjectChange("services", old, new)
    assert list(service_keys(change)) == keys


@pytest.mark.parametrize(
    ("created", "now", "is_deleted", "wakes"),
    [
        pytest.param("1970-01-01T00:10:00Z", 659.0, False, ((ADDRESS, 660.0),), id="rule-3-its-service-is-on-its-way"),
        pytest.param("1970-01-01T00:10:00Z", 660.0, True, (), id="rule-3-nobody-writes-it-any-more"),
        pytest.param("", 0.0, True, (), id="rule-3-nobody-knows-how-old-it-is"),
    ],
)
def test_address_that_is_claimed_before_its_service_is_there(
    created: str, now: float, is_deleted: bool, wakes: object
) -> None:
    result = controller([], [address("web", created=created)], 60.0).reconcile(ADDRESS, now)
    assert ([type(action) for action in result.actions], result.wakes) == ([Delete] if is_deleted else [], wakes)
