"""IP addresses and ranges: what is wrong with one, in Kubernetes' words.

Fields that are older than strict checking (`legacy`) may be written in any form that means one address; newer
ones only in the canonical form.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from doorman.base.go_format import quote

IP_FAULT: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_FAULT: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_OCTETS: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)


def address_or_none(text: str) -> Address | None:
    """As Go's sloppy parser reads it: leading zeros are passed over.

    >>> address_or_none("010.0.0.1"), address_or_none("x")
    (IPv4Address('10.0.0.1'), None)
    """
    found = _OCTETS.fullmatch(text)
    try:
        return ip_address(".".join(str(int(octet)) for octet in found.groups()) if found else _scopeless(text))
    except ValueError:
        return None


def _scopeless(text: str) -> str:
    if "%" in text:
        raise ValueError("an address with a zone is not taken")
    return text


def ip_faults(text: str, *, legacy: bool = False) -> list[str]:
    """
    >>> ip_faults("010.0.0.1", legacy=True), ip_faults("FE80::1"), ip_faults("FE80::1", legacy=True)
    (['must not have leading 0s'], ['must be in canonical form ("fe80::1")'], [])
    """
    found = address_or_none(text)
    if found is None:
        return [IP_FAULT]
    faults = []
    if isinstance(found, IPv4Address) and str(found) != text:
        faults.append("must not have leading 0s")
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        faults.append("must not be an IPv4-mapped IPv6 address")
    if not faults and not legacy and str(found) != text:
        faults.append(f"must be in canonical form ({quote(str(found))})")
    return faults


def network_or_none(text: str) -> Network | None:
    """As Go's sloppy parser reads it: bits beyond the prefix and leading zeros are passed over."""
    head, slash, prefix = text.partition("/")
    address = address_or_none(head)
    if address is None or not slash or not prefix.isascii() or not prefix.isdigit() or len(prefix) > 4:
        return None
    try:
        return ip_network((address, int(prefix)), strict=False)
    except ValueError:
        return None


def cidr_faults(text: str, *, legacy: bool = False) -> list[str]:
    """
    >>> cidr_faults("10.0.0.1/24"), cidr_faults("10.0.0.0/24")
    (['must not have bits set beyond the prefix length'], [])
    """
    network = network_or_none(text)
    if network is None:
        return [CIDR_FAULT]
    head, _, prefix = text.partition("/")
    address = address_or_none(head)
    if prefix != str(int(prefix)) or (isinstance(address, IPv4Address) and str(address) != head):
        return ["must not have leading 0s in IP or prefix length"]
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    if address != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return [] if legacy or str(network) == text else [f"must be in canonical form ({quote(str(network))})"]


def ip_warnings(text: str, path: str) -> list[str]:
    """What is said of an address that is accepted in a form that is not the usual one."""
    address = address_or_none(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None and str(address) != text:
        return [f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format ({quote(str(address))})"]
    return []


def cidr_warnings(text: str, path: str) -> list[str]:
    network = network_or_none(text)
    if isinstance(network, IPv6Network) and not cidr_faults(text, legacy=True) and str(network) != text:
        said = f"should be in RFC 5952 canonical format ({quote(str(network))})"
        return [f"{path}: IPv6 CIDR value {quote(text)} {said}"]
    return []
