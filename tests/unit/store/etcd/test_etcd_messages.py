"""The messages are those of etcd's wire format."""

import pytest

from doorman.store.etcd.etcd_messages import BY_MOD_REVISION, EQUAL, MESSAGES, swap_request


def test_comparison_with_nothing_says_so_on_the_wire() -> None:
    """A revision of zero means that the key is absent: it must be sent."""
    compare = MESSAGES["Compare"](result=EQUAL, target=BY_MOD_REVISION, key=b"k", mod_revision=0)
    assert compare.SerializeToString() == b"\x10\x02\x1a\x01k\x30\x00"


def test_members_nobody_asks_for_are_passed_over() -> None:
    answer = MESSAGES["ResponseHeader"].FromString(b"\x18\x07\x20\x03")  # revision 7, raft term 3
    assert answer.revision == 7


def test_watch_that_is_created_has_its_number_eleven_for_events() -> None:
    event = MESSAGES["Event"](type=1, kv=MESSAGES["KeyValue"](key=b"k", mod_revision=2))
    again = MESSAGES["WatchResponse"].FromString(MESSAGES["WatchResponse"](events=[event]).SerializeToString())
    assert (again.events[0].kv.key, again.events[0].type) == (b"k", 1)
    assert again.SerializeToString()[0] == 11 << 3 | 2


@pytest.mark.parametrize(
    ("value", "expected", "lease"),
    [
        pytest.param(b"v", 0, 0, id="creation"),
        pytest.param(b"v" * 70_000, 127, 0, id="large"),
        pytest.param(b"", 2**40, 2**62, id="leased"),
        pytest.param(None, 300, 0, id="deletion"),
    ],
)
def test_write_is_encoded_as_messages_are(value: bytes | None, expected: int, lease: int) -> None:
    key = b"/registry/pods/default/" + b"k" * 200
    compare = MESSAGES["Compare"](result=EQUAL, target=BY_MOD_REVISION, key=key, mod_revision=expected)
    if value is None:
        write = MESSAGES["RequestOp"](request_delete_range=MESSAGES["DeleteRangeRequest"](key=key))
    else:
        write = MESSAGES["RequestOp"](request_put=MESSAGES["PutRequest"](key=key, value=value, lease=lease))
    read = MESSAGES["RequestOp"](request_range=MESSAGES["RangeRequest"](key=key, limit=1))
    request = MESSAGES["TxnRequest"](compare=[compare], success=[write], failure=[read])
    assert MESSAGES["TxnRequest"].FromString(swap_request(key, value, expected, lease)) == request
    also = MESSAGES["Compare"](result=EQUAL, target=BY_MOD_REVISION, key=b"q" * 300, mod_revision=expected + 1)
    put = MESSAGES["RequestOp"](request_put=MESSAGES["PutRequest"](key=b"q" * 300, value=b"w" * 500))
    request = MESSAGES["TxnRequest"](compare=[compare, also], success=[write, put], failure=[read])
    beside = [(b"q" * 300, b"w" * 500, expected + 1)]
    assert MESSAGES["TxnRequest"].FromString(swap_request(key, value, expected, lease, beside)) == request
