"""Versions of a kind that look different from what is stored.

Of several versions of a resource one is stored. Most others have the same members; those that do not have a
`Conversion` here: how a document is turned into the stored form and back. Both directions take whole documents or
parts of them (an applied configuration), keep what they do not know, and leave the given document as it is.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.machinery.autoscaling_conversion import to_autoscaling_v1, to_autoscaling_v2

Document = dict[str, Any]
Convert = Callable[[Document], Document]


class Conversion(msgspec.Struct, frozen=True):
    to_stored: Convert
    from_stored: Convert


_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENT_NAMES_BACK: Final = {new: old for old, new in _EVENT_NAMES.items()}

_REQUEST_MEMBERS: Final = ("name", "firstAvailable")
"""Of a device request; everything else is about the one way to satisfy it, which newer versions put below `exactly`."""


def to_events_v1(doc: Document) -> Document:
    """
    >>> to_events_v1({"metadata": {}, "message": "hi", "reportingComponent": "me"})
    {'metadata': {}, 'note': 'hi', 'reportingController': 'me'}
    """
    return {_EVENT_NAMES.get(name, name): value for name, value in doc.items() if value != "" or name == "reason"}


def to_core_event(doc: Document) -> Document:
    return {_EVENT_NAMES_BACK.get(name, name): value for name, value in doc.items()}


def gather_request(request: Document) -> Document:
    """A device request of resource.k8s.io/v1beta1 in the form of v1.

    >>> gather_request({"name": "gpu", "deviceClassName": "a", "count": 2})
    {'name': 'gpu', 'exactly': {'deviceClassName': 'a', 'count': 2}}
    """
    out = {name: value for name, value in request.items() if name in _REQUEST_MEMBERS}
    exactly = {name: value for name, value in request.items() if name not in _REQUEST_MEMBERS}
    if exactly:
        out["exactly"] = exactly
    return out


def spread_request(request: Document) -> Document:
    """
    >>> spread_request({"name": "gpu", "exactly": {"deviceClassName": "a", "count": 2}})
    {'name': 'gpu', 'deviceClassName': 'a', 'count': 2}
    """
    out = {name: value for name, value in request.items() if name != "exactly"}
    return {**out, **request.get("exactly", {})}


def gather_device(device: Document) -> Document:
    """A device of resource.k8s.io/v1beta1, whose members are below `basic`, in the form of v1."""
    out = {name: value for name, value in device.items() if name != "basic"}
    return {**out, **device.get("basic", {})}


def spread_device(device: Document) -> Document:
    """
    >>> spread_device({"name": "gpu-0", "taints": []})
    {'name': 'gpu-0', 'basic': {'taints': []}}
    """
    basic = {name: value for name, value in device.items() if name != "name"}
    return {**({"name": device["name"]} if "name" in device else {}), "basic": basic}


def _each(path: tuple[str, ...], convert: Convert) -> Convert:
    """The same document with every element of the list at the path converted."""

    def converted(doc: Document) -> Document:
        return _with_each(doc, path, convert)

    return converted


def _with_each(value: Document, path: tuple[str, ...], convert: Convert) -> Document:
    member = value.get(path[0])
    if len(path) == 1:
        if not isinstance(member, list):
            return value
        return {**value, path[0]: [convert(item) if isinstance(item, dict) else item for item in member]}
    return {**value, path[0]: _with_each(member, path[1:], convert)} if isinstance(member, dict) else value


_CLAIM: Final = ("spec", "devices", "requests")
_TEMPLATE: Final = ("spec", *_CLAIM)
_SLICE: Final = ("spec", "devices")

CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "events.events.k8s.io/v1": Conversion(to_core_event, to_events_v1),
    "horizontalpodautoscalers.autoscaling/v1": Conversion(to_autoscaling_v2, to_autoscaling_v1),
    "resourceclaims.resource.k8s.io/v1beta1": Conversion(_each(_CLAIM, gather_request), _each(_CLAIM, spread_request)),
    "resourceclaimtemplates.resource.k8s.io/v1beta1": Conversion(
        _each(_TEMPLATE, gather_request), _each(_TEMPLATE, spread_request)
    ),
    "resourceslices.resource.k8s.io/v1beta1": Conversion(_each(_SLICE, gather_device), _each(_SLICE, spread_device)),
}
"""By group resource and version. To add one: a row here; everything else finds it by `Kind.conversion`."""


def to_stored(conversion: str, doc: Document) -> Document:
    return CONVERSIONS[conversion].to_stored(doc) if conversion else doc


def from_stored(conversion: str, doc: Document) -> Document:
    return CONVERSIONS[conversion].from_stored(doc) if conversion else doc
