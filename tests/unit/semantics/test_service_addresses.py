"""What an IPAddress says that is claimed for a service."""

import pytest

from doorman.semantics.service_addresses import FAMILY, MANAGED_BY, MANAGER, address_manifest


@pytest.mark.parametrize(("address", "family"), [("10.96.0.7", "IPv4"), ("fd00::7", "IPv6")])
def test_manifest_says_whose_it_is(address: str, family: str) -> None:
    assert address_manifest(address, "ns", "web") == {
        "metadata": {"name": address, "labels": {FAMILY: family, MANAGED_BY: MANAGER}},
        "spec": {"parentRef": {"resource": "services", "namespace": "ns", "name": "web"}},
    }
