"""Who presses Ctrl-C is told nothing, however early it is."""

import signal
import subprocess
import sys

import pytest

AT_IMPORT = """
import builtins, os, signal
real = builtins.__import__
def interrupted(name, *more, **how):
    if name == {name!r}:
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *more, **how)
builtins.__import__ = interrupted
import sys, runpy
sys.argv = ["doorman", "up", "--nodes", "nonsense"]
runpy.run_module("doorman", run_name="__main__")
"""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param("click", -signal.SIGINT, id="while-it-is-loaded"),
        pytest.param("doorman.cli.control_plane_flags", 128 + signal.SIGINT, id="while-the-command-is-loaded"),
    ],
)
def test_interrupted_while_it_starts(name: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT.format(name=name)], capture_output=True, text=True, timeout=60
    )
    assert (done.stderr.strip(), done.returncode) == ("", code)
