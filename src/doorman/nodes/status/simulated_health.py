"""How a simulated node is doing at an instant: whether it speaks at all, and which conditions it reports.

Annotations say it outright (`doorman.dev/silent`, `doorman.dev/conditions`) or by the clock (`doorman.dev/script`).
A script is a list of entries separated by `;`, each a state and a span that counts from the node's creation:

    silent 30s-90s; Ready=False 10s-; MemoryPressure=True 0s-5s/20s

The last repeats every 20 seconds: it flaps. An open span (`10s-`) never ends. Where entries overlap the later one
counts, and the plain annotations count more than the script.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.base.durations import parse_duration
from doorman.nodes.node_annotations import CONDITIONS, SCRIPT, SHUTDOWN, SILENT, ShutdownPeriods, parse_shutdown_periods

CONDITION_TYPES: Final = (
    "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk", "Ready"
)  # fmt: skip
EVERY_SECONDS_MIN: Final = 1.0
"""A node that flaps faster would keep everybody busy."""
NOT_READY_MESSAGE: Final = "node is shutting down"
_LASTING: Final = (CONDITIONS, SHUTDOWN, SILENT)
_ENTRY: Final = re.compile(r"(\S+)\s+([^\s/-]+)-([^\s/-]*)(?:/(\S+))?")


class ScriptError(ValueError):
    """A script or a list of conditions that cannot be read; the text says which part and why."""


class ScriptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`condition` is empty for silence. `end` and `every` are None when open."""

    condition: str = ""
    status: str = ""
    begin_seconds: float
    end_seconds: float | None
    every_seconds: float | None = None


class SimulatedHealth(msgspec.Struct, frozen=True, kw_only=True):
    """`conditions` holds only what differs from good health; `changes_at` is when to look again."""

    silent: bool = False
    conditions: Mapping[str, str] = {}
    messages: Mapping[str, str] = {}
    """Of conditions, by type, where they are not the usual ones."""
    shutdown: ShutdownPeriods | None = None
    """Told to shut down."""
    changes_at: Instant | None = None
    error: str = ""


def health_at(annotations: Mapping[str, str], created: Instant, now: Instant) -> SimulatedHealth:
    """What the annotations ask for at `now`. What cannot be read is reported in `error` and passed over.

    >>> health = health_at({"doorman.dev/script": "silent 30s-90s; Ready=False 10s-"}, 0.0, 40.0)
    >>> health.silent, health.conditions, health.changes_at
    (True, {'Ready': 'False'}, 90.0)
    """
    if SCRIPT not in annotations:
        return _lasting_health(tuple([(name, annotations[name]) for name in _LASTING if name in annotations]))
    return _health_at(annotations, created, now)


@lru_cache(maxsize=4096)
def _lasting_health(annotations: tuple[tuple[str, str], ...]) -> SimulatedHealth:
    """Without a script it is the same at any time, and of many nodes."""
    return _health_at(dict(annotations), 0.0, 0.0)


def _health_at(annotations: Mapping[str, str], created: Instant, now: Instant) -> SimulatedHealth:
    errors: list[str] = []
    try:
        entries = parse_script(annotations.get(SCRIPT, ""))
    except ScriptError as error:
        entries = ()
        errors.append(f"{SCRIPT}: {error}")
    silent = False
    conditions: dict[str, str] = {}
    changes: list[Instant] = []
    for entry in entries:
        active, changes_at = _state_at(entry, now - created)
        if changes_at is not None:
            changes.append(created + changes_at)
        if active and entry.condition:
            conditions[entry.condition] = entry.status
        elif active:
            silent = True
    try:
        conditions.update(parse_conditions(annotations.get(CONDITIONS, "")))
    except ScriptError as error:
        errors.append(f"{CONDITIONS}: {error}")
    shutdown = None
    messages: dict[str, str] = {}
    if SHUTDOWN in annotations:
        try:
            shutdown = parse_shutdown_periods(annotations[SHUTDOWN])
            conditions["Ready"], messages["Ready"] = "False", NOT_READY_MESSAGE
        except ValueError as error:
            errors.append(f"{SHUTDOWN}: {error}")
    said = annotations.get(SILENT)
    silent = said == "true" or (silent and said != "false")
    return SimulatedHealth(
        silent=silent,
        conditions=conditions,
        messages=messages,
        shutdown=shutdown,
        changes_at=min(changes, default=None),
        error="; ".join(errors),
    )


@lru_cache(maxsize=4096)
def parse_script(text: str) -> tuple[ScriptEntry, ...]:
    """
    >>> parse_script("silent 30s")
    Traceback (most recent call last):
    ...
    doorman...ScriptError: "silent 30s": want "STATE BEGIN-[END][/EVERY]", for example "silent 30s-90s"
    """
    return tuple(_parse_entry(part.strip()) for part in text.split(";") if part.strip())


@lru_cache(maxsize=4096)
def parse_conditions(text: str) -> Mapping[str, str]:
    """
    >>> parse_conditions("Ready=False, DiskPressure=True")
    {'Ready': 'False', 'DiskPressure': 'True'}
    """
    return dict(_parse_condition(part.strip()) for part in text.split(",") if part.strip())


def _parse_entry(text: str) -> ScriptEntry:
    found = _ENTRY.fullmatch(text)
    if found is None:
        raise ScriptError(f'"{text}": want "STATE BEGIN-[END][/EVERY]", for example "silent 30s-90s"')
    state, begin, end, every = found.groups()
    condition, status = ("", "") if state == "silent" else _parse_condition(state)
    try:
        begin_seconds = parse_duration(begin)
        end_seconds = parse_duration(end) if end else None
        every_seconds = parse_duration(every) if every else None
    except ValueError as error:
        raise ScriptError(f'"{text}": {error}') from None
    if end_seconds is not None and end_seconds <= begin_seconds:
        raise ScriptError(f'"{text}": the end is not after the beginning')
    if every_seconds is not None and (end_seconds is None or every_seconds < end_seconds):
        raise ScriptError(f'"{text}": what repeats must end before it begins again')
    if every_seconds is not None and every_seconds < EVERY_SECONDS_MIN:
        raise ScriptError(f'"{text}": nothing repeats more often than every {EVERY_SECONDS_MIN:g}s')
    return ScriptEntry(
        condition=condition,
        status=status,
        begin_seconds=begin_seconds,
        end_seconds=end_seconds,
        every_seconds=every_seconds,
    )


def _parse_condition(text: str) -> tuple[str, str]:
    kind, _, status = text.partition("=")
    if kind not in CONDITION_TYPES:
        raise ScriptError(f'"{text}": want "silent" or one of {", ".join(CONDITION_TYPES)}')
    if status not in ("True", "False"):
        raise ScriptError(f'"{text}": want {kind}=True or {kind}=False')
    return kind, status


def _state_at(entry: ScriptEntry, age_seconds: float) -> tuple[bool, float | None]:
    """Whether the entry holds at this age of the node, and the age at which that changes.

    Reckoned in whole microseconds: an instant is a float of that precision, so a node that looks again at the very
    instant it was told would else find itself a trifle too early, for ever when time stands still.
    """
    active, changes_at = _state_at_microsecond(
        round(age_seconds * _MICRO),
        begin=round(entry.begin_seconds * _MICRO),
        end=round(entry.end_seconds * _MICRO) if entry.end_seconds is not None else None,
        every=round(entry.every_seconds * _MICRO) if entry.every_seconds is not None else None,
    )
    return active, None if changes_at is None else changes_at / _MICRO


def _state_at_microsecond(age: int, *, begin: int, end: int | None, every: int | None) -> tuple[bool, int | None]:
    round_start = age // every * every if every is not None and age > 0 else 0
    age -= round_start
    if age < begin:
        return False, round_start + begin
    if end is None:
        return True, None
    if age < end:
        return True, round_start + end
    return False, None if every is None else round_start + every + begin


_MICRO: Final = 1_000_000


def is_ready(node: Node) -> bool:
    """As it was last reported."""
    ready = node.status.condition("Ready")
    return ready is not None and ready.status == "True"


def wake_at_first(key: str, *instants: Instant | None) -> Iterable[tuple[str, Instant]]:
    """The key at the soonest of these instants, if there is any."""
    soonest = min((instant for instant in instants if instant is not None), default=None)
    return () if soonest is None else ((key, soonest),)
