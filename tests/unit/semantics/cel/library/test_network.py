"""Addresses, networks and URLs."""

import pytest

from support.cel import check_fails, check_value, values


@values(
    ("ip('::1').family()", 6),
    ("isIP('10.0.0.1') && !isIP('10.0.0.01') && !isIP('::ffff:1.2.3.4')", True),
    ("ip('127.0.0.1').isLoopback() && ip('8.8.8.8').isGlobalUnicast()", True),
    ("ip.isCanonical('::1') && !ip.isCanonical('0::1')", True),
    ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", True),
    ("cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", True),
    ("string(cidr('10.0.0.0/8').ip()) + string(cidr('10.0.0.0/8').prefixLength())", "10.0.0.08"),
    ("url('https://User@Ex.com:80/a%20b?k=1&k=2').getHostname()", "Ex.com"),
    ("url('https://ex.com:80/a%20b?k=1&k=2').getQuery()", {"k": ["1", "2"]}),
    ("url('https://ex.com:80/a%20b').getEscapedPath() + url('/x').getScheme()", "/a%20b"),
    ("isURL('https://ex.com') && !isURL('ex.com/a') && !isURL('../a')", True),
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(
    "expression",
    [
        "ip('1.2.3')",
        "ip('fe80::1%eth0')",
        "cidr('10.0.0.0')",
        "cidr('10.0.0.0/64')",
        "url('no')",
        "url('https://')",
    ],
)
def test_function_fails(expression: str) -> None:
    check_fails(expression)
