"""What `doorman wait --for` may wait for, as kubectl has it: `create`, `delete`, `condition=…`, `jsonpath=…`."""

from typing import Any, Final

import msgspec

from doorman.cli.objects.jsonpath_template import values

_EXAMPLE: Final = "--for=jsonpath='{.status.readyReplicas}'=3"


class Unrecognized(ValueError):
    """Nothing that can be waited for."""


class Created(msgspec.Struct, frozen=True):
    """It is there."""


class Gone(msgspec.Struct, frozen=True):
    """It is no more."""


class ConditionIs(msgspec.Struct, frozen=True):
    """A condition of its status has this value; small and capital letters are the same."""

    type: str
    value: str

    def is_met(self, doc: dict[str, Any]) -> bool:
        status = doc.get("status") or {}
        for condition in status.get("conditions") or ():
            if str(condition.get("type", "")).lower() == self.type.lower():
                return not _is_outdated(doc, condition) and str(condition.get("status", "")).lower() == self.value
        return False


class PathLeads(msgspec.Struct, frozen=True):
    """A path leads to this value; None: to anything."""

    path: str
    value: str | None

    def is_met(self, doc: dict[str, Any]) -> bool:
        found = values(self.path, doc)
        if len(found) != 1 or isinstance(found[0], dict | list):
            return False
        if self.value is None:
            return True
        return _text(found[0]) == self.value


WaitCondition = Created | Gone | ConditionIs | PathLeads


def read_condition(text: str) -> WaitCondition:
    """
    >>> read_condition("condition=Ready"), read_condition("delete")
    (ConditionIs(type='Ready', value='true'), Gone())
    >>> read_condition("jsonpath={.status.phase}=Running")
    PathLeads(path='{.status.phase}', value='Running')
    """
    if text.lower() == "create":
        return Created()
    if text.lower() == "delete":
        return Gone()
    if text.startswith("condition="):
        kind, sign, value = text.removeprefix("condition=").partition("=")
        return ConditionIs(kind, value.lower() if sign else "true")
    if text.startswith("jsonpath="):
        return _path(text.removeprefix("jsonpath="))
    raise Unrecognized(f'unrecognized condition: "{text}"' if text else "unrecognized condition: []")


def _path(text: str) -> PathLeads:
    """The sign between path and value is the first behind the braces, for a path may have signs of its own."""
    head, brace, tail = text.rpartition("}")
    before, sign, value = tail.partition("=")
    path = (head + brace + before).strip("'\"")
    if not sign:
        return PathLeads(path, None)
    if not value:
        raise Unrecognized(f"jsonpath wait has to have a value after equal sign, like {_EXAMPLE}")
    return PathLeads(path, value.strip("'\""))


def _is_outdated(doc: dict[str, Any], condition: dict[str, Any]) -> bool:
    """It was said of an earlier generation of the object."""
    said = condition.get("observedGeneration", (doc.get("status") or {}).get("observedGeneration"))
    return said is not None and said < (doc["metadata"].get("generation") or 0)


def _text(value: Any) -> str:  # a JSON scalar
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
