"""Memory that is freed and taken again, in processes of their own: what was freed is still there, or it is not."""

import platform
import subprocess
import sys

import pytest

_FAULTS = """
import resource
from doorman.base.process_memory import keep_memory

def take() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [bytes(100_000) for _ in range(200)]
    body = b"".join(blocks)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

{prepare}
take()
print(take())
"""


def faults_of_the_second_time(prepare: str) -> int:
    command = [sys.executable, "-c", _FAULTS.format(prepare=prepare)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is one of glibc")
def test_freed_memory_is_there_when_it_is_wanted_again() -> None:
    assert faults_of_the_second_time("keep_memory()") < faults_of_the_second_time("") / 3


def test_collector_looks_seldom() -> None:
    imports = "import gc; from doorman.base.process_memory import *"
    text = f"{imports}; keep_memory(); assert gc.get_threshold() == COLLECTOR_THRESHOLDS"
    subprocess.run([sys.executable, "-c", text], check=True)
