"""Of several servers one compacts, and only what the round before had already seen."""

import pytest

from doorman.store.etcd.etcd_client import EtcdClient, EtcdError
from doorman.store.etcd.etcd_compaction import EtcdCompaction
from support.etcd import EtcdMember


async def test_one_of_two_compacts_what_was_newest_a_round_ago(member: EtcdMember) -> None:
    client = EtcdClient([member.url])
    one, other = EtcdCompaction(client), EtcdCompaction(client)
    for server in (one, other):  # they learn where the others are
        await server.compact()
    old = (await client.swap(b"compacted", b"1", 0)).header.revision
    new = (await client.swap(b"compacted", b"2", old)).header.revision
    while await one.compact() < new:
        assert await other.compact() == 0, "whoever was slower learns of it, and waits a round"
        await one.compact()
    with pytest.raises(EtcdError, match="compacted"):
        await client.range(b"compacted", revision=old)
    assert (await client.range(b"compacted")).kvs[0].value == b"2"
    await client.close()
