"""The address under which others reach this server."""

import socket
from ipaddress import ip_address
from typing import Final

EVERYWHERE: Final = ("", "0.0.0.0", "::")
_SOMEWHERE: Final = ("192.0.2.1", 9)
"""An address of no network: nothing is sent, only asked by which address of ours one would go there."""


def advertised_address(bind: str, advertise: str) -> str:
    """What is advertised: what is asked for, the address that is listened on, or the machine's. Empty: one that nobody
    else could reach, such as a loopback address.
    """
    address = advertise or (_own_address() if bind in EVERYWHERE else bind)
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    is_reachable = not (found.is_loopback or found.is_unspecified or found.is_link_local or found.is_multicast)
    return str(found) if is_reachable else ""


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(_SOMEWHERE)
        except OSError:
            return ""
        address: str = asking.getsockname()[0]
        return address
