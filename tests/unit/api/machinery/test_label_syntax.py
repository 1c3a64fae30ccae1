"""Label keys and values: what is refused, in which words."""

import pytest

from doorman.api.machinery.label_syntax import label_key_faults, label_value_faults


@pytest.mark.parametrize(
    ("key", "beginnings"),
    [
        pytest.param("app", [], id="plain"),
        pytest.param("example.com/app", [], id="with-prefix"),
        pytest.param("", ["name part must be non-empty", "name part must consist of"], id="empty-gives-two"),
        pytest.param("a" * 64, ["name part must be no more than 63 bytes"], id="long-name"),
        pytest.param("Example.com/a", ["prefix part a lowercase RFC 1123 subdomain must"], id="prefix-upper-case"),
        pytest.param("a" * 254 + "/a", ["prefix part must be no more than 253 bytes"], id="long-prefix"),
        pytest.param("/a", ["prefix part must be non-empty"], id="empty-prefix"),
        pytest.param("a/b/c", ["a valid label key must consist of"], id="two-slashes-say-only-that"),
    ],
)
def test_label_key_faults_in_order(key: str, beginnings: list[str]) -> None:
    faults = label_key_faults(key)
    assert len(faults) == len(beginnings)
    for fault, beginning in zip(faults, beginnings, strict=True):
        assert fault.startswith(beginning)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("a.b", 0, id="dots"),
        pytest.param("-a", 1, id="starts-badly"),
        pytest.param("-" * 64, 2, id="two-faults"),
    ],
)
def test_label_value_faults_are_counted(value: str, count: int) -> None:
    assert len(label_value_faults(value)) == count
