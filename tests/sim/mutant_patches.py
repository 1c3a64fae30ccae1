"""How a fault is planted: something else is put in the place of what is there, for as long as a simulation lasts."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

from doorman.base.clock import sleep
from doorman.client.leader_election import LeaderElector

Patch = Callable[[ExitStack], None]


def replacing(place: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Puts something else in the place of what is there, made of that."""

    def patch(stack: ExitStack) -> None:
        stack.enter_context(mock.patch.object(place, name, make(getattr(place, name))))

    return patch


def both(*patches: Patch) -> Patch:
    def patch(stack: ExitStack) -> None:
        for each in patches:
            each(stack)

    return patch


def every(count: int, other: Callable[..., Any]) -> Callable[[Any], Any]:
    """Each so-manyth call does something else."""

    def make(real: Any) -> Any:
        calls = 0

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            return (other if calls % count == 0 else real)(*arguments, **options)

        return call

    return make


async def kept_after_all(self: LeaderElector) -> None:
    """A renewal that came too late keeps the lease, for those who were not allowed to act meanwhile."""
    while True:
        await sleep(self._clock, self._times.retry_seconds)
        if not await self._try() and not self.may_act:
            self._renewed_at = float("-inf")
            self._is_leading = False
            return
