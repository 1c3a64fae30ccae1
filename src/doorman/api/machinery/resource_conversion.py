"""Versions of resource.k8s.io. Stored is v1; v1beta2 and v1alpha3 have the same members, v1beta1 has not.

In v1beta1 a request says what it wants in members of its own, where v1 has them below `exactly`; the members of a
device are below `basic`; and what is not there is empty (`nodeName`) or false (`allNodes`).
"""

from typing import Final

from doorman.base.json_types import Document, Transform

_REQUEST_MEMBERS: Final = ("name", "firstAvailable")
"""Of a request in both versions; everything else is about the one way to satisfy it."""
_DEVICE_COLLECTIONS: Final = ("attributes", "capacity", "consumesCounters", "taints")
"""Members of a device that v1beta1 does not keep when they are empty."""
_REQUESTS: Final = ("spec", "devices", "requests")


def gather_request(request: Document) -> Document:
    """A request of v1beta1 in the form of v1. One that says nothing of what it wants has no `exactly`.

    >>> gather_request({"name": "gpu", "deviceClassName": "a", "count": 2})
    {'name': 'gpu', 'exactly': {'deviceClassName': 'a', 'count': 2}}
    >>> gather_request({"name": "gpu", "deviceClassName": "", "firstAvailable": []})
    {'name': 'gpu', 'firstAvailable': []}
    """
    out = {name: value for name, value in request.items() if name in _REQUEST_MEMBERS}
    wanted = {name: value for name, value in request.items() if name not in _REQUEST_MEMBERS}
    if any(value not in ("", 0, None) or isinstance(value, bool) for value in wanted.values()):
        out["exactly"] = wanted
    return out


def spread_request(request: Document) -> Document:
    """A request of v1 in the form of v1beta1, which always has the name of a class.

    >>> spread_request({"name": "gpu", "exactly": {"deviceClassName": "a", "count": 2}})
    {'name': 'gpu', 'deviceClassName': 'a', 'count': 2}
    >>> spread_request({"name": "gpu", "firstAvailable": []})
    {'name': 'gpu', 'deviceClassName': '', 'firstAvailable': []}
    """
    out = {"name": request["name"]} if "name" in request else {}
    out["deviceClassName"] = ""
    out.update({name: value for name, value in request.items() if name not in ("name", "exactly")})
    exactly = request.get("exactly")
    return {**out, **exactly} if isinstance(exactly, dict) else out


def gather_device(device: Document) -> Document:
    """
    >>> gather_device({"name": "gpu-0", "basic": {"allNodes": True, "taints": []}})
    {'name': 'gpu-0', 'allNodes': True}
    """
    out = {name: value for name, value in device.items() if name != "basic"}
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return out
    kept = {name: value for name, value in basic.items() if value or name not in _DEVICE_COLLECTIONS}
    return {**out, **kept}


def spread_device(device: Document) -> Document:
    """
    >>> spread_device({"name": "gpu-0", "allNodes": True})
    {'name': 'gpu-0', 'basic': {'allNodes': True}}
    """
    basic = {name: value for name, value in device.items() if name != "name"}
    return {**({"name": device["name"]} if "name" in device else {}), "basic": basic}


def to_slice(doc: Document) -> Document:
    """A slice of v1beta1 in the form of v1."""
    spec = doc.get("spec")
    if not isinstance(spec, dict):
        return doc
    kept = {name: value for name, value in spec.items() if value or name not in ("nodeName", "allNodes")}
    return _with_each({**doc, "spec": kept}, ("spec", "devices"), gather_device)


def from_slice(doc: Document) -> Document:
    return _with_each(doc, ("spec", "devices"), spread_device)


def to_claim(doc: Document) -> Document:
    return _with_each(doc, _REQUESTS, gather_request)


def from_claim(doc: Document) -> Document:
    return _with_each(doc, _REQUESTS, spread_request)


def to_claim_template(doc: Document) -> Document:
    return _with_each(doc, ("spec", *_REQUESTS), gather_request)


def from_claim_template(doc: Document) -> Document:
    return _with_each(doc, ("spec", *_REQUESTS), spread_request)


def _with_each(value: Document, path: tuple[str, ...], convert: Transform) -> Document:
    """The same document with every element of the list at the path converted."""
    member = value.get(path[0])
    if len(path) == 1:
        if not isinstance(member, list):
            return value
        return {**value, path[0]: [convert(item) if isinstance(item, dict) else item for item in member]}
    return {**value, path[0]: _with_each(member, path[1:], convert)} if isinstance(member, dict) else value
