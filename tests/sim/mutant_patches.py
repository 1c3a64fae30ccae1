"""How a fault is planted: something else is put in the place of what is there, for as long as a simulation lasts."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

Patch = Callable[[ExitStack], None]


def replacing(place: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Puts something else in the place of what is there, made of that."""

    def patch(stack: ExitStack) -> None:
        stack.enter_context(mock.patch.object(place, name, make(getattr(place, name))))

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
