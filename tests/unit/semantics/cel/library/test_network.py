"""Addresses, networks and URLs."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import evaluate
from support.cel import evaluated


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
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
    ],
    ids=lambda value: value if isinstance(value, str) and "(" in value else "",
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    found = evaluated(expression)
    assert (found, type(found)) == (expected, type(expected))


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
    with pytest.raises(CelError):
        evaluate(expression, {"s": "("})
