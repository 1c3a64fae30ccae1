"""What a container is asked or told while it runs: probes and lifecycle hooks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required
from doorman.semantics.name_syntax import port_name_faults

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_HOOKS: Final = ("postStart", "preStop")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SCHEMES: Final = ("HTTP", "HTTPS")
_NUMBERS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_HEADER_FAULT: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)

_Json = Mapping[str, Any]  # a part of a container


def handler_errors(container: _Json, path: str, *, grace_seconds: int | None) -> Iterator[FieldError]:
    """Hooks, then probes, in the API's order. `grace_seconds` is how long the pod has to stop."""
    hooks: _Json = container.get("lifecycle") or {}
    for field in _HOOKS:
        if (hook := hooks.get(field)) is not None:
            yield from _action_errors(hook, f"{path}.lifecycle.{field}", grace_seconds)
    for field in PROBES:
        if (probe := container.get(field)) is not None:
            yield from _probe_errors(probe, field, f"{path}.{field}", grace_seconds)


def _probe_errors(probe: _Json, field: str, path: str, grace_seconds: int | None) -> Iterator[FieldError]:
    yield from _action_errors(probe, path, grace_seconds)
    for number in _NUMBERS:
        if probe.get(number, 0) < 0:
            yield invalid(f"{path}.{number}", probe[number], "must be greater than or equal to 0")
    grace, at = probe.get("terminationGracePeriodSeconds"), f"{path}.terminationGracePeriodSeconds"
    if grace is not None and grace <= 0:
        yield invalid(at, grace, "must be greater than 0")
    if field == "readinessProbe":
        if grace is not None:
            yield invalid(at, grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _action_errors(action: _Json, path: str, grace_seconds: int | None) -> Iterator[FieldError]:
    """One thing to do, and one only."""
    found = [handler for handler in _HANDLERS if action.get(handler) is not None]
    if not found:
        yield required(path, "must specify a handler type")
        return
    yield from _handler_errors(found[0], action[found[0]], f"{path}.{found[0]}", grace_seconds)
    for extra in found[1:]:
        yield forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")


def _handler_errors(kind: str, handler: _Json, path: str, grace_seconds: int | None) -> Iterator[FieldError]:
    match kind:
        case "exec":
            if not handler.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            if not handler.get("path"):
                yield required(f"{path}.path")
            yield from _port_errors(handler, path)
            if handler.get("scheme") not in _SCHEMES:
                yield not_supported(f"{path}.scheme", JsonText(handler.get("scheme", "")), _SCHEMES)
            for header in handler.get("httpHeaders") or ():
                if not _HEADER.fullmatch(header.get("name", "")):
                    yield invalid(f"{path}.httpHeaders", header.get("name", ""), _HEADER_FAULT)
        case "sleep":
            seconds = handler.get("seconds", 0)
            if grace_seconds is not None and not 0 <= seconds <= grace_seconds:
                text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})"
                yield invalid(path, seconds, text)
        case _:
            yield from _port_errors(handler, path)


def _port_errors(handler: _Json, path: str) -> Iterator[FieldError]:
    port = handler.get("port", 0)
    if isinstance(port, str):
        yield from (invalid(f"{path}.port", port, fault) for fault in port_name_faults(port))
    elif not 1 <= port <= 65535:
        yield invalid(f"{path}.port", port, PORT_RANGE)
