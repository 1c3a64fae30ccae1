"""How a process that serves treats memory: it rather keeps some than look for it again."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

COLLECTOR_THRESHOLDS: Final = (50_000, 50, 100)
"""Almost everything that is made lives for long or is freed by its count: the collector need not look often."""

FREED_BYTES_KEPT: Final = 64 * 1024 * 1024
BLOCK_BYTES_MAX: Final = 32 * 1024 * 1024
"""The body of a list is some megabytes, made and freed for each request. Memory that was given back to the system and
is asked for again arrives page by page, each filled with zeros.
"""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3


@contextmanager
def loading() -> Iterator[None]:
    """Around imports: what they make stays, and looking for garbage in it takes a fifth of their time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def keep_memory() -> None:
    """For this process. A C library without such settings is left as it is."""
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, FREED_BYTES_KEPT)
        mallopt(_M_MMAP_THRESHOLD, BLOCK_BYTES_MAX)


def give_back() -> None:
    """What is free goes to the system: after much was let go that is not wanted again soon."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
