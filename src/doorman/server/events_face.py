"""Events have two faces, core/v1 and events.k8s.io/v1, and one store. Stored is the core face."""

from typing import Final

from doorman.api.schema import Document

_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK: Final = {new: old for old, new in _NAMES.items()}


def to_events_v1(doc: Document) -> Document:
    """
    >>> to_events_v1({"metadata": {}, "message": "hi", "reportingComponent": "me"})
    {'metadata': {}, 'note': 'hi', 'reportingController': 'me'}
    """
    return {_NAMES.get(name, name): value for name, value in doc.items()}


def to_core(doc: Document) -> Document:
    return {_BACK.get(name, name): value for name, value in doc.items()}
