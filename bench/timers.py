"""A million pending timers: operations a second.

.venv/bin/python bench/timers.py
"""

import random
import time

from doorman.base.timers import TimerHeap

COUNT = 1_000_000


def main() -> None:
    keys = [f"namespace/pod-{number}" for number in range(COUNT)]
    rng = random.Random(1)
    dues = [rng.random() * 3600 for _ in range(COUNT)]
    timers = TimerHeap[str]()
    started = time.perf_counter()
    for key, due in zip(keys, dues, strict=True):
        timers.add(key, due)
    added = time.perf_counter()
    for key in keys[::4]:
        timers.cancel(key)
    cancelled = time.perf_counter()
    fired = len(timers.pop_due(1800.0)) + len(timers.pop_due(3600.0))
    ended = time.perf_counter()
    print(f"add    {COUNT / (added - started):>12,.0f}/s")
    print(f"cancel {COUNT / 4 / (cancelled - added):>12,.0f}/s")
    print(f"fire   {fired / (ended - cancelled):>12,.0f}/s")


if __name__ == "__main__":
    main()
