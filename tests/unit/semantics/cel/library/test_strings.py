"""Functions of texts."""

import pytest

from support.cel import check_fails, check_value, values


@values(
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
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(
    "expression",
    [
        "'abc'.charAt(4)",
        "'abc'.substring(2, 1)",
        "'abc'.substring(4)",
        "'%d'.format(['a'])",
        "'%s'.format([])",
        "'%q'.format([1])",
        "['a', 1].join()",
        "'a'.matches(s)",
    ],
)
def test_function_fails(expression: str) -> None:
    check_fails(expression)
