"""The annotations by which people steer simulated nodes and the pods on them.

On a Node:

- `doorman.dev/simulated: "true"`: the agent plays this node's kubelet;
- `doorman.dev/silent: "true"`: cut off, neither status nor lease nor pods, until the annotation goes; `"false"` ends a
  silence that its script asks for;
- `doorman.dev/conditions: Ready=False,MemoryPressure=True`: what the kubelet says instead of good health;
- `doorman.dev/shutdown: 30s/10s`: it shuts down, in so much time, the last of it for critical pods;
- `doorman.dev/script`: the same by the clock, see `doorman.nodes.status.simulated_health`;
- `doorman.dev/attach-limit: "25"`: how many simulated volumes can be attached to it;
- `doorman.dev/pod-termination: 2s`: how long its pods take to stop that do not say;
- `doorman.dev/failing-images: "example.com/*,*:old"`: images that cannot be pulled, on a Pod too;
- `doorman.dev/devices`, `doorman.dev/device-taints`, `doorman.dev/failed-devices`: what its driver publishes, see
  `doorman.nodes.devices.simulated_devices`.

On a Pod:

- `doorman.dev/startup: 2s`: until its containers run;
- `doorman.dev/ready-after: 5s`: from then until it is Ready;
- `doorman.dev/runs-for: 1m`: until its containers exit;
- `doorman.dev/exit-codes: "1,1,0"`: with which code, run after run; the last one repeats;
- `doorman.dev/termination: 3s`: how long it takes to stop when it is deleted;
- `doorman.dev/cpu-usage: 200m`, `doorman.dev/memory-usage: 200Mi`, `doorman.dev/disk-usage: 2Gi`: what it takes up, for
  metrics and for a node that runs short;
- on its workload `doorman.dev/cpu-load: "2"`, `doorman.dev/memory-load: 4Gi`: what all its pods share;
- `doorman.dev/logs: text`: what its containers write, with `doorman.dev/log-interval: 1s` a line at a time.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from doorman.api.machinery.quantity import whole_value
from doorman.base.durations import parse_duration

PREFIX: Final = "doorman.dev/"
SIMULATED: Final = PREFIX + "simulated"
SILENT: Final = PREFIX + "silent"
CONDITIONS: Final = PREFIX + "conditions"
SCRIPT: Final = PREFIX + "script"
SHUTDOWN: Final = PREFIX + "shutdown"
ATTACH_LIMIT: Final = PREFIX + "attach-limit"
DEVICES: Final = PREFIX + "devices"
DEVICE_TAINTS: Final = PREFIX + "device-taints"
FAILED_DEVICES: Final = PREFIX + "failed-devices"
FAILING_IMAGES: Final = PREFIX + "failing-images"
POD_TERMINATION: Final = PREFIX + "pod-termination"
STARTUP: Final = PREFIX + "startup"
READY_AFTER: Final = PREFIX + "ready-after"
RUNS_FOR: Final = PREFIX + "runs-for"
EXIT_CODES: Final = PREFIX + "exit-codes"
TERMINATION: Final = PREFIX + "termination"
MEMORY_USAGE: Final = PREFIX + "memory-usage"
DISK_USAGE: Final = PREFIX + "disk-usage"
CPU_USAGE: Final = PREFIX + "cpu-usage"
CPU_LOAD: Final = PREFIX + "cpu-load"
MEMORY_LOAD: Final = PREFIX + "memory-load"
"""Of a workload: what its pods share."""
LOGS: Final = PREFIX + "logs"
LOG_INTERVAL: Final = PREFIX + "log-interval"


TAINTS: Final = PREFIX + "taints"
"""Who tainted a node, written by the server: not one of these orders, but no mistake either."""

_TIMES: Final = (STARTUP, READY_AFTER, RUNS_FOR, TERMINATION, LOG_INTERVAL)
_AMOUNTS: Final = (CPU_USAGE, MEMORY_USAGE, DISK_USAGE)
_OF_PODS: Final = (*_TIMES, EXIT_CODES, *_AMOUNTS, FAILING_IMAGES, LOGS)
_OF_NODES: Final = (
    SIMULATED, SILENT, CONDITIONS, SCRIPT, SHUTDOWN, POD_TERMINATION, FAILING_IMAGES, ATTACH_LIMIT, DEVICES,
    DEVICE_TAINTS, FAILED_DEVICES,
)  # fmt: skip
EXIT_CODE_MAX: Final = 255
LIMIT_DIGITS_MAX: Final = 10
"""So that it is one of Kubernetes' 32-bit numbers."""


class NodeAnnotationError(ValueError):
    """An annotation that cannot be obeyed; the text says which and why."""


class ShutdownPeriods(msgspec.Struct, frozen=True, kw_only=True):
    """How long a node takes to shut down; `critical_seconds` are part of `total_seconds`."""

    total_seconds: float
    critical_seconds: float = 0.0


def is_simulated(annotations: Mapping[str, str]) -> bool:
    return annotations.get(SIMULATED) == "true"


def pod_annotation_errors(annotations: Mapping[str, str]) -> list[str]:
    """What a pod's annotations ask for that cannot be done; such an annotation counts as not there.

    >>> pod_annotation_errors({"doorman.dev/startup": "soon", "doorman.dev/exit-codes": "0", "team": "a"})
    ['doorman.dev/startup: time: invalid duration "soon"']
    """
    errors = []
    for annotation in sorted(annotation for annotation in annotations if annotation.startswith(PREFIX)):
        text = annotations[annotation]
        try:
            if annotation in _TIMES:
                parse_seconds(text)
            elif annotation == EXIT_CODES:
                parse_exit_codes(text)
            elif annotation in _AMOUNTS:
                parse_amount(text)
            elif annotation in (FAILING_IMAGES, LOGS):
                pass
            elif annotation in _OF_NODES:
                raise NodeAnnotationError("this is said of nodes, not of pods")
            else:
                raise NodeAnnotationError(f"no such annotation; want one of {_names(_OF_PODS)}")
        except ValueError as error:
            errors.append(f"{annotation}: {error}")
    return errors


def node_annotation_errors(annotations: Mapping[str, str]) -> list[str]:
    """As `pod_annotation_errors`, of what is wrong with a node's annotations beyond what `simulated_health` reads.

    >>> node_annotation_errors({"doorman.dev/silent": "yes"})
    ['doorman.dev/silent: want "true" or "false", not "yes"']
    """
    errors = []
    for annotation in sorted(annotation for annotation in annotations if annotation.startswith(PREFIX)):
        if annotation in (SIMULATED, SILENT):
            if annotations[annotation] not in ("true", "false"):
                errors.append(f'{annotation}: want "true" or "false", not "{annotations[annotation]}"')
        elif annotation == ATTACH_LIMIT:
            if parse_limit(annotations[annotation]) is None:
                errors.append(f'{annotation}: want a number such as "25", not "{annotations[annotation]}"')
        elif annotation == POD_TERMINATION:
            try:
                parse_seconds(annotations[annotation])
            except ValueError as error:
                errors.append(f"{annotation}: {error}")
        elif annotation in _OF_PODS and annotation not in _OF_NODES:
            errors.append(f"{annotation}: this is said of pods, not of nodes")
        elif annotation not in _OF_NODES and annotation != TAINTS:
            errors.append(f"{annotation}: no such annotation; want one of {_names(_OF_NODES)}")
    return errors


def parse_exit_codes(text: str) -> tuple[int, ...]:
    """Raises NodeAnnotationError.

    >>> parse_exit_codes("1, 1,0")
    (1, 1, 0)
    """
    try:
        codes = tuple(int(code) for code in text.split(","))
    except ValueError:
        raise NodeAnnotationError(f'want exit codes such as "1,1,0", not "{text}"') from None
    if not all(0 <= code <= EXIT_CODE_MAX for code in codes):
        raise NodeAnnotationError(f'exit codes go from 0 to {EXIT_CODE_MAX}: "{text}"')
    return codes


def parse_limit(text: str) -> int | None:
    """
    >>> parse_limit("25"), parse_limit("many")
    (25, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < LIMIT_DIGITS_MAX else None


def parse_amount(text: str) -> int:
    """Raises NodeAnnotationError, or QuantityError."""
    amount = whole_value(text)
    if amount < 0:
        raise NodeAnnotationError(f'must not be negative: "{text}"')
    return amount


@lru_cache(maxsize=256)
def parse_shutdown_periods(text: str) -> ShutdownPeriods:
    """Raises ValueError.

    >>> parse_shutdown_periods("30s/10s")
    ShutdownPeriods(total_seconds=30.0, critical_seconds=10.0)
    """
    total, _, critical = text.partition("/")
    periods = ShutdownPeriods(
        total_seconds=parse_duration(total.strip()),
        critical_seconds=parse_duration(critical.strip()) if critical else 0.0,
    )
    if not 0 <= periods.critical_seconds <= periods.total_seconds:
        raise ValueError(f'"{text}": the time of critical pods is part of the whole time')
    return periods


def seconds_or(annotations: Mapping[str, str], annotation: str, otherwise: float) -> float:
    """A duration of an annotation; what cannot be read or is negative counts as not said."""
    text = annotations.get(annotation)
    if text is None:
        return otherwise
    try:
        return parse_seconds(text)
    except ValueError:
        return otherwise


def parse_seconds(text: str) -> float:
    """Raises NodeAnnotationError, or ValueError of what is no duration."""
    seconds = parse_duration(text)
    if seconds < 0:
        raise NodeAnnotationError(f'must not be negative: "{text}"')
    return seconds


def _names(annotations: Sequence[str]) -> str:
    return ", ".join(annotation.removeprefix(PREFIX) for annotation in annotations)
