"""A server that is sampled: `python bench/sampled_server.py FILE up ...` does what `doorman up ...` does.

SIGUSR2 begins to note what the processor works on, every thousandth of a second that it works; a second one writes the
stacks to FILE, a line each, as flame graphs want them. `py-spy` shows more, and must be installed for it.
"""

import collections
import pathlib
import runpy
import signal
import sys
import types

PERIOD_SECONDS = 0.001

_stacks: collections.Counter[str] = collections.Counter()
_file = pathlib.Path(sys.argv[1])


def sample(_signal: int, frame: types.FrameType | None) -> None:
    names: list[str] = []
    while frame is not None:
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    _stacks[";".join(reversed(names))] += 1


def switch(_signal: int, _frame: types.FrameType | None) -> None:
    is_on = signal.getitimer(signal.ITIMER_PROF)[1] > 0
    period = 0.0 if is_on else PERIOD_SECONDS
    signal.setitimer(signal.ITIMER_PROF, period, period)
    if is_on:
        _file.write_text("".join(f"{stack} {count}\n" for stack, count in _stacks.items()))


signal.signal(signal.SIGPROF, sample)
signal.siginterrupt(signal.SIGPROF, False)
signal.signal(signal.SIGUSR2, switch)
sys.argv[:2] = ["doorman"]
runpy.run_module("doorman", run_name="__main__", alter_sys=True)
