"""The address under which others reach a server."""

from ipaddress import ip_address

import pytest

from doorman.runtime.presence.advertised_address import advertised_address


@pytest.mark.parametrize(
    ("bind", "advertise", "expected"),
    [
        pytest.param("10.0.0.7", "", "10.0.0.7", id="where-it-listens"),
        pytest.param("0.0.0.0", "10.0.0.8", "10.0.0.8", id="what-is-asked-for"),
        pytest.param("127.0.0.1", "fd00::8", "fd00::8", id="of-the-newer-family"),
        pytest.param("127.0.0.1", "", "", id="loopback"),
        pytest.param("::1", "", "", id="loopback-of-the-newer-family"),
        pytest.param("localhost", "", "", id="a-name"),
        pytest.param("10.0.0.7", "169.254.1.1", "", id="link-local"),
        pytest.param("10.0.0.7", "0.0.0.0", "", id="unspecified"),
    ],
)
def test_address(bind: str, advertise: str, expected: str) -> None:
    assert advertised_address(bind, advertise) == expected


def test_who_listens_everywhere_advertises_an_address_of_the_machine() -> None:
    found = advertised_address("0.0.0.0", "")
    assert not found or not ip_address(found).is_loopback
