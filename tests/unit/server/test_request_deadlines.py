"""Requests end in time: after a minute, or when they asked for less, in virtual time."""

import asyncio

import pytest

from doorman.base.errors import ApiError
from doorman.runtime.virtual_time import run_virtual
from doorman.server.request_deadlines import Deadlines, parse_timeout


async def handled(deadlines: Deadlines, asked: str, seconds: float) -> float:
    """How a request ends that takes so long: the time it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    deadline = deadlines.begin(asked)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        late = deadline.timeout_error()
        if late is None:
            raise
        assert (late.code, late.reason) == (504, "Timeout")
        assert late.message == (
            "Timeout: request did not complete within requested timeout - context deadline exceeded"
        )
        return round(began - loop.time(), 3)
    finally:
        deadline.end()
    return round(loop.time() - began, 3)


@pytest.mark.parametrize(
    ("asked", "seconds", "took"),
    [
        pytest.param("", 59, 59, id="in-time"),
        pytest.param("", 3600, -60, id="a-minute-without-a-wish"),
        pytest.param("2s", 3600, -2, id="less-by-wish"),
        pytest.param("2s", 1, 1, id="within-the-wish"),
        pytest.param("5m", 3600, -60, id="more-is-not-to-be-had"),
        pytest.param("0", 3600, -60, id="zero-is-no-wish"),
        pytest.param("-1s", 3600, -60, id="nor-is-less-than-zero"),
    ],
)
def test_request_ends_in_time(asked: str, seconds: float, took: float) -> None:
    assert run_virtual(handled(Deadlines(), asked, seconds)) == took


def test_each_has_a_deadline_of_its_own() -> None:
    async def main() -> list[float]:
        deadlines = Deadlines()

        async def later(seconds: float) -> float:
            await asyncio.sleep(seconds)
            return await handled(deadlines, "", 3600)

        return list(await asyncio.gather(*(asyncio.create_task(later(at)) for at in (0, 10, 100))))

    assert run_virtual(main()) == [-60, -60, -60]


def test_task_that_is_cancelled_by_others_is_cancelled() -> None:
    async def main() -> None:
        task = asyncio.create_task(handled(Deadlines(), "", 100))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())


def test_wish_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        parse_timeout("soon")
    assert caught.value.code == 400
    assert caught.value.message == 'invalid timeout specified in the request URL - time: invalid duration "soon"'
