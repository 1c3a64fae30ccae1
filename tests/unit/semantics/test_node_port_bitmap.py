"""The bitmap of node ports that servers share."""

import pytest

from doorman.semantics.node_port_bitmap import PortBitmap, decide_repair, parse_bitmap

PORTS = range(30000, 32768)


@pytest.mark.parametrize(
    ("used", "data"),
    [
        pytest.param(set(), "", id="rule-1-nothing"),
        pytest.param({30000}, "AQ==", id="rule-1-first-port-is-the-lowest-bit"),
        pytest.param({30008}, "AQA=", id="rule-1-big-endian"),
        pytest.param({30000, 30007}, "gQ==", id="rule-1-no-leading-zeros"),
    ],
)
def test_data(used: set[int], data: str) -> None:
    bitmap = PortBitmap(PORTS, frozenset(used))
    assert (bitmap.range_text, bitmap.data()) == ("30000-32767", data)
    assert parse_bitmap("30000-32767", data) == bitmap


def test_last_port_is_the_highest_bit() -> None:
    bitmap = PortBitmap(PORTS, frozenset({32767}))
    assert parse_bitmap(bitmap.range_text, bitmap.data()) == bitmap


@pytest.mark.parametrize(
    ("range_text", "data"),
    [("", ""), ("a-b", ""), ("30000", ""), ("30000-30007", "AQA="), ("30000-32767", "?"), ("5-1", "")],
)
def test_what_is_no_bitmap_is_told(range_text: str, data: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_bitmap(range_text, data)


@pytest.mark.parametrize(
    ("stored", "used", "unused", "repaired", "then"),
    [
        pytest.param({30001}, {30001}, {}, {30001}, {}, id="rule-2-as-it-should-be"),
        pytest.param(set(), {30001}, {}, {30001}, {}, id="rule-2-missing-is-put-in"),
        pytest.param(set(), {80}, {}, set(), {}, id="rule-2-out-of-range-is-not"),
        pytest.param({30001}, set(), {}, {30001}, {30001: 1}, id="rule-3-once-unused-stays"),
        pytest.param({30001}, set(), {30001: 1}, {30001}, {30001: 2}, id="rule-3-twice-unused-stays"),
        pytest.param({30001}, set(), {30001: 2}, set(), {}, id="rule-3-three-times-unused-goes"),
        pytest.param({30001}, {30001}, {30001: 2}, {30001}, {}, id="rule-3-used-again-is-counted-anew"),
        pytest.param(set(), set(), {30001: 2}, set(), {}, id="rule-3-freed-meanwhile"),
    ],
)
def test_repair(stored: set[int], used: set[int], unused: dict[int, int], repaired: set[int], then: object) -> None:
    found = decide_repair(PortBitmap(PORTS, frozenset(stored)), used, unused)
    assert found == (PortBitmap(PORTS, frozenset(repaired)), then)
