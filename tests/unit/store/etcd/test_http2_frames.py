"""Frames and headers, beside another implementation of them."""

import pytest
from hpack import Decoder

from doorman.store.etcd.http2_frames import DATA, END_STREAM, HEAD, PADDED, frame, header_block, unpadded


@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_frame_says_how_long_it_is(size: int) -> None:
    data = frame(DATA, END_STREAM, 5, b"x" * size)
    high, low, kind, flags, number = HEAD.unpack_from(data)
    assert ((high << 16) + low, kind, flags, number) == (size, DATA, END_STREAM, 5)
    assert data[HEAD.size :] == b"x" * size


def test_padding_is_taken_off() -> None:
    assert unpadded(PADDED, b"\x02content\0\0") == b"content"
    assert unpadded(0, b"content") == b"content"


@pytest.mark.parametrize("size", [0, 126, 127, 128, 300, 20_000])
def test_headers_are_read_by_others(size: int) -> None:
    fields = {":path": "/etcdserverpb.KV/Txn", "te": "x" * size}
    decoder = Decoder(max_header_list_size=1 << 20)
    assert dict(decoder.decode(header_block(fields))) == fields
    assert not decoder.header_table.dynamic_entries, "nothing is to be remembered"
