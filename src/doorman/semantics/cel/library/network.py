"""URLs, IP addresses and ranges of them."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import ClassVar, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.overloads import Table, table


class Url(msgspec.Struct, frozen=True):
    cel_text: str
    cel_type: ClassVar[str] = "kubernetes.URL"


class Ip(msgspec.Struct, frozen=True):
    address: IPv4Address | IPv6Address
    cel_type: ClassVar[str] = "net.IP"

    @property
    def cel_text(self) -> str:
        return str(self.address)


class Cidr(msgspec.Struct, frozen=True):
    """`written` is the address as it was given: it may have bits beyond the prefix."""

    written: IPv4Address | IPv6Address
    network: IPv4Network | IPv6Network
    cel_type: ClassVar[str] = "net.CIDR"

    @property
    def cel_text(self) -> str:
        return f"{self.written}/{self.network.prefixlen}"


def _url(_meter: CostBudget, text: str) -> Url:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise CelError(f"URL parse error during conversion from string: parse {text}: {error}") from error
    is_whole = bool(parts.scheme) and (bool(parts.netloc) or not text.startswith(f"{parts.scheme}://"))
    if not text or " " in text or not (is_whole or text.startswith("/")) or (port is not None and port < 0):
        raise CelError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return Url(text)


def _is_url(meter: CostBudget, text: str) -> bool:
    try:
        _url(meter, text)
    except CelError:
        return False
    return True


def _hostname(url: Url) -> str:
    """As it is written: its case is kept."""
    host = urlsplit(url.cel_text).netloc.rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: Url) -> str:
    port = urlsplit(url.cel_text).port
    return "" if port is None else str(port)


def _query(url: Url) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url.cel_text).query, keep_blank_values=True)


def _ip(_meter: CostBudget, text: str) -> Ip:
    try:
        address = ip_address(text)
    except ValueError as error:
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {error}') from error
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CelError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address)


def _is_ip(meter: CostBudget, text: str) -> bool:
    try:
        _ip(meter, text)
    except CelError:
        return False
    return True


def _is_canonical(meter: CostBudget, text: str) -> bool:
    return _ip(meter, text).cel_text == text


def _cidr(meter: CostBudget, text: str) -> Cidr:
    address, slash, prefix = text.partition("/")
    if not slash or not prefix.isascii() or not prefix.isdigit():
        raise CelError(f'network address parse error during conversion from string: "{text}" has no prefix')
    try:
        return Cidr(_ip(meter, address).address, ip_network(text, strict=False))
    except ValueError as error:
        raise CelError(f"network address parse error during conversion from string: {error}") from error


def _is_cidr(meter: CostBudget, text: str) -> bool:
    try:
        _cidr(meter, text)
    except CelError:
        return False
    return True


def _contains_ip(meter: CostBudget, cidr: Cidr, ip: Ip | str) -> bool:
    found = _ip(meter, ip) if isinstance(ip, str) else ip
    return found.address in cidr.network


def _contains_cidr(meter: CostBudget, cidr: Cidr, other: Cidr | str) -> bool:
    found = (_cidr(meter, other) if isinstance(other, str) else other).network
    outer = cidr.network
    if isinstance(outer, IPv4Network) and isinstance(found, IPv4Network):
        return found.subnet_of(outer)
    if isinstance(outer, IPv6Network) and isinstance(found, IPv6Network):
        return found.subnet_of(outer)
    return False


_LOCAL_4: Final = IPv4Network("224.0.0.0/24")
_LOCAL_6: Final = IPv6Network("ff02::/16")
_S: Final = "string"
_URL: Final = Url.cel_type
_IP: Final = Ip.cel_type
_CIDR: Final = Cidr.cel_type

FUNCTIONS: Final[Table] = table(
    ("url", (_S,), _URL, _url),
    ("isURL", (_S,), "bool", _is_url),
    ("ip", (_S,), _IP, _ip),
    ("isIP", (_S,), "bool", _is_ip),
    ("ip.isCanonical", (_S,), "bool", _is_canonical),
    ("cidr", (_S,), _CIDR, _cidr),
    ("isCIDR", (_S,), "bool", _is_cidr),
)

METHODS: Final[Table] = table(
    ("getScheme", (_URL,), _S, lambda _m, url: urlsplit(url.cel_text).scheme),
    ("getHost", (_URL,), _S, lambda _m, url: urlsplit(url.cel_text).netloc.rpartition("@")[2]),
    ("getHostname", (_URL,), _S, lambda _m, url: _hostname(url)),
    ("getPort", (_URL,), _S, lambda _m, url: _port(url)),
    ("getEscapedPath", (_URL,), _S, lambda _m, url: urlsplit(url.cel_text).path),
    ("getQuery", (_URL,), "map", lambda _m, url: _query(url)),
    ("family", (_IP,), "int", lambda _m, ip: ip.address.version),
    ("isUnspecified", (_IP,), "bool", lambda _m, ip: ip.address.is_unspecified),
    ("isLoopback", (_IP,), "bool", lambda _m, ip: ip.address.is_loopback),
    (
        "isLinkLocalMulticast",
        (_IP,),
        "bool",
        lambda _m, ip: ip.address in (_LOCAL_4 if ip.address.version == 4 else _LOCAL_6),
    ),
    ("isLinkLocalUnicast", (_IP,), "bool", lambda _m, ip: ip.address.is_link_local),
    (
        "isGlobalUnicast",
        (_IP,),
        "bool",
        lambda _m, ip: (
            not (
                ip.address.is_unspecified
                or ip.address.is_loopback
                or ip.address.is_multicast
                or ip.address.is_link_local
                or ip.cel_text == "255.255.255.255"
            )
        ),
    ),
    ("containsIP", (_CIDR, _IP), "bool", _contains_ip),
    ("containsIP", (_CIDR, _S), "bool", _contains_ip),
    ("containsCIDR", (_CIDR, _CIDR), "bool", _contains_cidr),
    ("containsCIDR", (_CIDR, _S), "bool", _contains_cidr),
    ("ip", (_CIDR,), _IP, lambda _m, cidr: Ip(cidr.written)),
    (
        "masked",
        (_CIDR,),
        _CIDR,
        lambda _m, cidr: Cidr(cidr.network.network_address, cidr.network),
    ),
    ("prefixLength", (_CIDR,), "int", lambda _m, cidr: cidr.network.prefixlen),
)
