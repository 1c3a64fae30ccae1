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
    FAMILY,
    MANAGED_BY,
    MANAGER,
    ServiceAddressController,
    service_keys,
)

ADDRESS = "10.96.0.7"


def service(name: str = "web", *addresses: str, **spec: Any) -> Any:
    body = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterIPs": list(addresses), **spec}}
    return msgspec.convert(body, Service)


def address(parent: str, manager: str = MANAGER) -> Any:
    body = {
        "metadata": {"name": ADDRESS, "uid": "u", "labels": {MANAGED_BY: manager}},
        "spec": {"parentRef": {"resource": "services", "namespace": "ns", "name": parent}},
    }
    return msgspec.convert(body, IpAddress)


def actions(services: list[Any], addresses: list[Any]) -> list[Any]:
    known: InformerCache[Any] = InformerCache({BY_ADDRESS: addresses_of})
    for one in services:
        known.put(f"ns/{one.metadata.name}", one)
    made: InformerCache[Any] = InformerCache({})
    for one in addresses:
        made.put(one.metadata.name, one)
    return list(ServiceAddressController(known, made).reconcile(ADDRESS, 0.0).actions)


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
