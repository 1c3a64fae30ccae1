"""What kubectl wait waits for: `condition=Ready`, `condition=Ready=False`, `delete`, `create`,
`jsonpath={.status.phase}=Running`.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from doorman.base.json_types import Document

Holds = Callable[[Document | None], bool]
"""Of an object; None: it is not there."""

_JSONPATH: Final = re.compile(r"jsonpath='?\{(\.[^}]+)\}'?(?:=(.*))?", re.DOTALL)
_STEP: Final = re.compile(
    r"""\.(?P<name>(?:[^.\[\]\\]|\\.)+) | \[(?P<at>-?\d+)\] | \['(?P<quoted>[^']+)'\]"""
    r""" | \[\?\(@\.(?P<field>[\w.]+)\s*==\s*["'](?P<value>[^"']*)["']\)\]""",
    re.VERBOSE,
)
_MISSING: Final = object()


def parse_wait(text: str) -> Holds:
    """Raises ValueError with a hint.

    >>> ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    >>> [parse_wait(text)(ready) for text in ("condition=ready", "delete", "jsonpath={.status.phase}=Running")]
    [True, False, True]
    """
    if text == "delete":
        return lambda found: found is None
    if text == "create":
        return lambda found: found is not None
    if text.startswith("condition="):
        kind, _, status = text.removeprefix("condition=").partition("=")
        return lambda found: found is not None and _has_condition(found, kind, status or "true")
    if matched := _JSONPATH.fullmatch(text):
        steps, wanted = _steps(matched[1]), matched[2]
        return lambda found: found is not None and _shows(_at(found, steps), wanted)
    raise ValueError(
        f'unrecognized condition: "{text}": want condition=Ready, delete, create or jsonpath={{.status.phase}}=Running'
    )


def _has_condition(found: Document, kind: str, status: str) -> bool:
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(
        str(one.get("type", "")).lower() == kind.lower() and str(one.get("status", "")).lower() == status.lower()
        for one in conditions
    )


def _steps(path: str) -> list[re.Match[str]]:
    steps, at = [], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"cannot read the JSONPath {path} from {path[at:]!r} on")
        steps.append(step)
        at = step.end()
    return steps


def _at(value: Any, steps: list[re.Match[str]]) -> Any:  # JSON
    for step in steps:
        name = step["quoted"] or re.sub(r"\\(.)", r"\1", step["name"] or "")
        if name:
            value = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
        elif not isinstance(value, list):
            return _MISSING
        elif step["at"] is not None:
            at = int(step["at"])
            value = value[at] if -len(value) <= at < len(value) else _MISSING
        else:
            field, wanted = _steps("." + step["field"]), step["value"]
            value = next((one for one in value if _shows(_at(one, field), wanted)), _MISSING)
    return value


def _shows(value: Any, wanted: str | None) -> bool:  # JSON
    """Without a wanted text it is enough that something is there."""
    if value is _MISSING or value is None:
        return False
    if wanted is None:
        return True
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return shown == wanted.strip("'\"")
