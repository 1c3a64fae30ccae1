"""What a server is made of is loaded in two parts, the second while the store writes."""

import subprocess
import sys

import pytest

_LOADED = """
import asyncio, sys
import doorman.runtime.real_time.running_server
from doorman.runtime.real_time.component_loading import load_components
others = []

async def other() -> None:
    while True:
        others.append(len(sys.modules))
        await asyncio.sleep(0)

async def main() -> None:
    work = asyncio.create_task(other())
    await load_components()
    work.cancel()

def loaded() -> list[bool]:
    return [name in sys.modules for name in ("numpy", "doorman.scheduler.scheduler", "doorman.runtime.control_plane")]

before = loaded()
asyncio.run(main())
print(before, loaded(), len(set(others)) > 2)
"""


@pytest.mark.slow
def test_components_are_loaded_behind_the_api_and_the_loop_goes_on_meanwhile() -> None:
    told = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[0] == "[False, False, False] [True, True, True] True"
