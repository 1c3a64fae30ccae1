"""Functions of the language and of Kubernetes' libraries."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression, evaluate


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Conversions and times
        ("int('12') + int(3.9) + int(4u)", 19),
        ("double('1.5')", 1.5),
        ("string(1.0) + string(0.5) + string(true)", "10.5true"),
        ("string(b'ab')", "ab"),
        ("bool('true')", True),
        ("type(1) == int && type('') == string && type(null) == null_type", True),
        ("string(duration('90m'))", "5400s"),
        ("duration('1h30m').getMinutes()", 90),
        ("timestamp('2024-01-01T10:00:00Z') + duration('1h') == timestamp('2024-01-01T11:00:00Z')", True),
        ("string(timestamp('2024-01-01T10:00:00.5+02:00'))", "2024-01-01T08:00:00.5Z"),
        ("timestamp('2024-01-07T10:00:00Z').getDayOfWeek()", 0),
        ("timestamp('2024-01-01T10:00:00Z').getHours('America/New_York')", 5),
        ("timestamp('2024-01-01T10:00:00Z').getHours('+02:00')", 12),
        ("timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')", True),
        ("timestamp('2024-01-02T00:00:00Z') > timestamp('2024-01-01T00:00:00Z')", True),
        # Strings
        ("'tacocat'.charAt(3)", "o"),
        ("'tacocat'.indexOf('a', 3)", 5),
        ("'tacocat'.lastIndexOf('a')", 5),
        ("'TacoCÆt'.lowerAscii() + 'aé'.upperAscii()", "tacocÆtAé"),
        ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'tacocat'.substring(1, 3)", "ac"),
        ("'  a '.trim()", "a"),
        ("['a', 'b'].join('-')", "a-b"),
        ("'abc'.reverse()", "cba"),
        ("'%s %d %.1f %x %X %b'.format(['a', 5, 1.25, 255, 'k', true])", "a 5 1.2 ff 6B 1"),
        ("'%o %e %%'.format([8, 1.0])", "10 1.000000e+00 %"),
        ("'%s'.format([[1, 'a', {'k': null}]])", '[1, "a", {"k": null}]'),
        ("strings.quote('a\"b')", '"a\\"b"'),
        ("'abc'.size() + size('é')", 4),
        ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
        ("'abc 123'.find('[0-9]+')", "123"),
        ("'1 22 333'.findAll('[0-9]+', 2)", ["1", "22"]),
        ("'abc'.matches('b') && matches('abc', '^a')", True),
        # Lists
        ("[1, 2, 2].isSorted() && !['b', 'a'].isSorted()", True),
        ("[1, 2, 3].sum() + [4, 5].max() + [4, 5].min()", 15),
        ("[].sum()", 0),
        ("[duration('1m'), duration('1s')].sum() == duration('61s')", True),
        ("['a', 'b', 'a'].indexOf('a') + ['a', 'b', 'a'].lastIndexOf('a')", 2),
        ("[1, 2, 3].slice(1, 3)", [2, 3]),
        ("[1, [2, [3]]].flatten()", [1, 2, [3]]),
        ("[3, 1, 2].sort()", [1, 2, 3]),
        ("[1, 1.0, 2].distinct()", [1, 2]),
        ("[1, 2].reverse()", [2, 1]),
        ("[1, 2].first().value() + [1, 2].last().value()", 3),
        ("sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])", True),
        # Quantities and versions
        ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
        ("quantity('50k').add(20).sub(quantity('20')).asInteger()", 50000),
        ("quantity('500m').asApproximateFloat()", 0.5),
        ("isQuantity('1.5Gi') && !isQuantity('a')", True),
        ("quantity('1k') == quantity('1000') && quantity('-1').sign() == -1", True),
        ("quantity('1').compareTo(quantity('2'))", -1),
        ("semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-a').isLessThan(semver('1.0.0'))", True),
        ("semver('v1.02', true).minor()", 2),
        ("isSemver('1.0') || !isSemver('1.0', true)", False),
        # Networks
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
        # Formats
        ("format.dns1123Label().validate('good-name').hasValue()", False),
        ("format.dns1123Label().validate('Bad_').value().size()", 1),
        ("format.named('uuid').value().validate('x').hasValue()", True),
        ("format.named('nope').hasValue()", False),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
    ],
    ids=lambda value: value if isinstance(value, str) and "(" in value else "",
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    compile_expression(expression, {})
    found = evaluate(expression, {})
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "expression",
    [
        "int('a')", "int('1' + '0' + '99999999999999999999')", "int(1e300)", "double('x')", "bool('maybe')",
        "timestamp('yesterday')", "timestamp('2024-13-01T00:00:00Z')", "duration('1')", "duration('1x')",
        "timestamp('2024-01-01T00:00:00Z').getHours('Nowhere/City')", "'abc'.charAt(4)", "'abc'.substring(2, 1)",
        "'abc'.substring(4)", "'%d'.format(['a'])", "'%s'.format([])", "'%q'.format([1])", "[].max()", "[1, 'a'].min()",
        "['a', 1].join()", "[1].slice(1, 0)", "quantity('x')", "quantity('0.5').asInteger()", "semver('1.0')",
        "ip('1.2.3')", "ip('fe80::1%eth0')", "cidr('10.0.0.0')", "cidr('10.0.0.0/64')", "url('no')", "url('https://')",
        "'a'.matches(s)", "string(b'\\xff')", "[1, [1]].sort()", "dyn([1]) < [2]",
    ],
)  # fmt: skip
def test_function_fails(expression: str) -> None:
    with pytest.raises(CelError):
        evaluate(expression, {"s": "("})
