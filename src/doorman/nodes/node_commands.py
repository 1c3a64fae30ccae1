"""Orders to a simulated node of a running cluster, as merge patches of its annotations.

`doorman node fail|recover|pressure` and kubectl do the same thing: they annotate the Node, and the agent obeys.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.base.json_types import Document
from doorman.nodes.node_annotations import CONDITIONS, SHUTDOWN, SILENT, parse_shutdown_periods
from doorman.nodes.status.simulated_health import ScriptError, parse_conditions

NONE: Final[Mapping[str, str]] = {}

PRESSURES: Final = {"memory": "MemoryPressure", "disk": "DiskPressure", "pid": "PIDPressure"}


def cut_off() -> Document:
    """Neither status nor lease nor pods: the kubelet is dead, or the network is."""
    return _annotate({SILENT: "true"})


def not_ready(annotations: Mapping[str, str] = NONE) -> Document:
    """The kubelet lives and says that it is not ready, besides what it was told to say by `annotations`.

    >>> not_ready({"doorman.dev/conditions": "DiskPressure=True"})
    {'metadata': {'annotations': {'doorman.dev/conditions': 'DiskPressure=True,Ready=False'}}}
    """
    return _conditions({**_said(annotations), "Ready": "False"})


def recover() -> Document:
    """Everything that was ordered is over."""
    return _annotate({SILENT: None, CONDITIONS: None, SHUTDOWN: None})


def shut_down(grace: str, critical: str) -> Document:
    """Shut down gracefully. Raises ValueError when the times make no sense.

    >>> shut_down("30s", "10s")
    {'metadata': {'annotations': {'doorman.dev/shutdown': '30s/10s'}}}
    """
    text = f"{grace}/{critical}"
    parse_shutdown_periods(text)
    return _annotate({SHUTDOWN: text})


def pressure(kinds: Sequence[str], annotations: Mapping[str, str] = NONE) -> Document:
    """Short of `memory`, `disk` or `pid`; of none of them when the list is empty. Raises KeyError for others.

    >>> pressure(["memory"], {"doorman.dev/conditions": "DiskPressure=True,Ready=False"})
    {'metadata': {'annotations': {'doorman.dev/conditions': 'Ready=False,MemoryPressure=True'}}}
    """
    others = {kind: status for kind, status in _said(annotations).items() if kind not in PRESSURES.values()}
    return _conditions({**others, **{PRESSURES[kind]: "True" for kind in kinds}})


def conditions(text: str) -> Document:
    """Any conditions, such as `Ready=False,NetworkUnavailable=True`. Raises ScriptError when they make no sense."""
    parse_conditions(text)
    return _annotate({CONDITIONS: text or None})


def _said(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """The conditions that were ordered before; those that cannot be read were never obeyed."""
    try:
        return parse_conditions(annotations.get(CONDITIONS, ""))
    except ScriptError:
        return {}


def _conditions(wanted: Mapping[str, str]) -> Document:
    return _annotate({CONDITIONS: ",".join(f"{kind}={status}" for kind, status in wanted.items()) or None})


def _annotate(annotations: dict[str, str | None]) -> Document:
    return {"metadata": {"annotations": annotations}}
