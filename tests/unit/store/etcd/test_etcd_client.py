"""The client moves on from members that do not answer, and says what etcd said."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from doorman.store.etcd.etcd_client import LOAD_SECONDS_MAX, EtcdClient, EtcdError, read_together
from doorman.store.etcd.etcd_messages import MESSAGES
from support.etcd import EtcdMember, free_ports


async def test_member_that_is_not_there_is_left_for_the_next(member: EtcdMember) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    client = EtcdClient([nobody, member.url])
    answer = await client.range(b"k")
    assert answer.header.revision > 0
    assert client.current == member.url.removeprefix("http://")
    await client.close()


async def test_member_that_hangs_is_left_for_the_next(member: EtcdMember, tmp_path: Path) -> None:
    with EtcdMember(tmp_path, "--unsafe-no-fsync") as hanging:
        client = EtcdClient([hanging.url, member.url])
        await client.range(b"k")
        hanging.signal(signal.SIGSTOP)
        assert (await client.range(b"k", seconds=2.0)).header.revision > 0
        assert client.current == member.url.removeprefix("http://")
        await client.close()


async def test_watch_at_a_member_that_hangs_is_left_with_the_member(member: EtcdMember, tmp_path: Path) -> None:
    with EtcdMember(tmp_path, "--unsafe-no-fsync") as hanging:
        client = EtcdClient([hanging.url, member.url])
        watch = client.watch(b"/k", b"/l", 1, lambda _: None)
        assert (await anext(watch))[0].created
        hanging.signal(signal.SIGSTOP)
        reading = asyncio.create_task(anext(watch))
        await client.range(b"/k")
        with pytest.raises(EtcdError, match="the member does not answer"):
            await reading
        await client.close()


async def test_long_answer_is_not_waited_for_where_the_member_hangs(member: EtcdMember, tmp_path: Path) -> None:
    with EtcdMember(tmp_path, "--unsafe-no-fsync") as hanging:
        client = EtcdClient([hanging.url, member.url])
        await client.range(b"k")
        hanging.signal(signal.SIGSTOP)
        async with asyncio.timeout(LOAD_SECONDS_MAX / 2):
            await client.range(b"k", seconds=LOAD_SECONDS_MAX)
        assert client.current == member.url.removeprefix("http://")
        await client.close()


async def test_nobody_there_is_undecided(tmp_path: Path) -> None:
    client = EtcdClient([f"http://127.0.0.1:{free_ports(1)[0]}"])
    with pytest.raises(EtcdError) as error:
        await client.range(b"k", seconds=0.3)
    assert error.value.is_undecided
    assert not await client.is_alive()
    await client.close()


async def test_what_etcd_refuses_is_told_in_its_words(member: EtcdMember) -> None:
    client = EtcdClient([member.url])
    with pytest.raises(EtcdError, match="request is too large") as error:
        await client.swap(b"k", b"x" * 2_000_000, 0)
    assert not error.value.is_undecided
    assert str(error.value).startswith("rpc error: code = InvalidArgument desc = etcdserver")
    assert await client.is_alive()
    assert len(await client.versions()) == 1
    await client.close()


async def test_member_of_another_cluster_is_never_asked(tmp_path: Path) -> None:
    ours, others = (EtcdMember(tmp_path / name, "--unsafe-no-fsync") for name in ("ours", "others"))
    for one in (ours, others):
        one.folder.mkdir()
    others.start(token="another")
    others.wait()
    try:
        with ours:
            client = EtcdClient([ours.url, others.url])
            with pytest.raises(EtcdError, match="are of different clusters"):
                await client.versions()
            client.serve((await client.range(b"/k", limit=1)).header.cluster_id)
            assert (await client.swap(b"/k", b"kept", 0)).succeeded
        for _ in range(4):
            with pytest.raises(EtcdError) as caught:
                await client.swap(b"/k", b"lost", 0)
            assert caught.value.is_undecided
        elsewhere = EtcdClient([others.url])
        assert (await elsewhere.range(b"/k", limit=1)).count == 0, "nothing is written where nothing of ours is"
        await client.close()
        await elsewhere.close()
    finally:
        others.stop()


def told(revision: int, *keys: bytes, **more: Any) -> bytes:
    """An answer of a watch."""
    events = [MESSAGES["Event"](kv=MESSAGES["KeyValue"](key=key, mod_revision=revision)) for key in keys]
    header = MESSAGES["ResponseHeader"](revision=revision, cluster_id=7)
    return MESSAGES["WatchResponse"](header=header, events=events, **more).SerializeToString()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([told(1, b"a")], [(1, [b"a"])], id="one"),
        pytest.param([told(1, b"a"), told(2, b"b")], [(1, [b"a"]), (2, [b"b"])], id="two"),
        pytest.param(
            [told(1, b"a"), told(2, b"b", b"c"), told(3, b"a"), told(4)],
            [(3, [b"a", b"b", b"c", b"a"]), (4, [])],
            id="several-are-one-and-the-last",
        ),
        pytest.param([told(1), told(2), told(3)], [(2, []), (3, [])], id="how-far-it-is"),
        pytest.param(
            [told(1, b"a"), told(2, b"b", fragment=True), told(2, b"c")],
            [(1, [b"a"]), (2, [b"b"]), (2, [b"c"])],
            id="fragment-stands-alone",
        ),
        pytest.param(
            [told(0, created=True), told(1, b"a"), told(2, b"b")],
            [(0, []), (1, [b"a"]), (2, [b"b"])],
            id="begin-stands-alone",
        ),
        pytest.param(
            [told(1, b"a"), told(2, canceled=True), told(3)],
            [(1, [b"a"]), (2, []), (3, [])],
            id="end-stands-alone",
        ),
    ],
)
def test_answers_that_only_tell_of_events_are_read_together(
    messages: list[bytes], expected: list[tuple[int, list[bytes]]]
) -> None:
    answers = read_together(messages)
    assert [(one.header.revision, [event.kv.key for event in one.events]) for one in answers] == expected
    assert {one.header.cluster_id for one in answers} == {7}
