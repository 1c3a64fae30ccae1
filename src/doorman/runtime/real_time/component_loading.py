"""Loading the program of the controllers, the scheduler and the nodes, which is half of what a server is made of, while
the store writes what every cluster begins with: so a server starts sooner.
"""

import asyncio
import importlib
from typing import TYPE_CHECKING, Final

from doorman.base.process_memory import loading

if TYPE_CHECKING:
    from doorman.runtime.control_plane import ControlPlane

_IN_THIS_ORDER: Final = (
    "numpy",
    "doorman.scheduler.scheduler",
    "doorman.runtime.controller_registry",
    "doorman.runtime.control_plane",
)


async def load_components() -> "type[ControlPlane]":
    """A part at a time: in between the loop hears what has been written, and has the next thing written."""
    for name in _IN_THIS_ORDER:
        with loading():
            importlib.import_module(name)
        await asyncio.sleep(0)
    from doorman.runtime.control_plane import ControlPlane

    return ControlPlane
