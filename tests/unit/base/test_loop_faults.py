"""Exceptions that nobody took: one line for what the world does, a traceback for bugs."""

import asyncio
import logging
import ssl

import pytest

from doorman.base.errors import internal
from doorman.base.loop_faults import tell_in_one_line


@pytest.mark.parametrize(
    "error",
    [ssl.SSLError(1, "[SSL] bad\nrecord"), ConnectionResetError(104, "reset"), BrokenPipeError(), internal("failed")],
    ids=lambda error: type(error).__name__,
)
async def test_what_the_world_does_is_one_line(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        context = {"message": "Task exception\nwas never retrieved", "exception": error}
        tell_in_one_line(asyncio.get_running_loop(), context)
    [record] = caplog.records
    assert "\n" not in record.getMessage()
    assert not record.exc_info


async def test_bug_keeps_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tell_in_one_line(asyncio.get_running_loop(), {"message": "m", "exception": KeyError("x")})
    [record] = caplog.records
    assert record.exc_info
