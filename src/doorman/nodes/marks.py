"""The annotations by which people steer simulated nodes and the pods on them.

On a Node:

- `doorman.dev/simulated: "true"`: the agent plays this node's kubelet;
- `doorman.dev/silent: "true"`: cut off, neither status nor lease nor pods, until the annotation goes;
- `doorman.dev/conditions: Ready=False,MemoryPressure=True`: what the kubelet says instead of good health;
- `doorman.dev/shutdown: 30s/10s`: it shuts down, in so much time, the last of it for critical pods;
- `doorman.dev/script`: the same by the clock, see `doorman.nodes.health`.

On a Pod:

- `doorman.dev/startup: 2s`: until its containers run;
- `doorman.dev/ready-after: 5s`: from then until it is Ready;
- `doorman.dev/runs-for: 1m`: until its containers exit;
- `doorman.dev/exit-codes: "1,1,0"`: with which code, run after run; the last one repeats;
- `doorman.dev/termination: 3s`: how long it takes to stop when it is deleted;
- `doorman.dev/memory-usage: 200Mi`, `doorman.dev/disk-usage: 2Gi`: what it takes up, for a node that runs short.
"""

from collections.abc import Mapping
from typing import Final

from doorman.base.durations import parse_duration

PREFIX: Final = "doorman.dev/"
SIMULATED: Final = PREFIX + "simulated"
SILENT: Final = PREFIX + "silent"
CONDITIONS: Final = PREFIX + "conditions"
SCRIPT: Final = PREFIX + "script"
SHUTDOWN: Final = PREFIX + "shutdown"
STARTUP: Final = PREFIX + "startup"
READY_AFTER: Final = PREFIX + "ready-after"
RUNS_FOR: Final = PREFIX + "runs-for"
EXIT_CODES: Final = PREFIX + "exit-codes"
TERMINATION: Final = PREFIX + "termination"
MEMORY_USAGE: Final = PREFIX + "memory-usage"
DISK_USAGE: Final = PREFIX + "disk-usage"


def is_simulated(annotations: Mapping[str, str]) -> bool:
    return annotations.get(SIMULATED) == "true"


def seconds_or(annotations: Mapping[str, str], mark: str, otherwise: float) -> float:
    """A duration of an annotation; what cannot be read or is negative counts as not said."""
    text = annotations.get(mark)
    if text is None:
        return otherwise
    try:
        seconds = parse_duration(text)
    except ValueError:
        return otherwise
    return seconds if seconds >= 0 else otherwise
