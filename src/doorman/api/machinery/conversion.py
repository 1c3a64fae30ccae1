"""Versions of a kind that look different from what is stored.

Of several versions of a resource one is stored. Most others have the same members; those that do not have a
`Conversion` here: how a document is turned into the stored form and back. Both directions take whole documents or
parts of them (an applied configuration), keep what they do not know, and leave the given document as it is.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.api.machinery.autoscaling_conversion import to_autoscaling_v1, to_autoscaling_v2
from doorman.api.machinery.resource_conversion import (
    from_claim,
    from_claim_template,
    from_slice,
    to_claim,
    to_claim_template,
    to_slice,
)
from doorman.base.json_types import Document, Transform


class Conversion(msgspec.Struct, frozen=True):
    to_stored: Transform
    from_stored: Transform


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


def to_events_v1(doc: Document) -> Document:
    """
    >>> to_events_v1({"metadata": {}, "message": "hi", "reportingComponent": "me"})
    {'metadata': {}, 'note': 'hi', 'reportingController': 'me'}
    """
    return {_EVENT_NAMES.get(name, name): value for name, value in doc.items() if value != "" or name == "reason"}


def to_core_event(doc: Document) -> Document:
    return {_EVENT_NAMES_BACK.get(name, name): value for name, value in doc.items()}


CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "events.events.k8s.io/v1": Conversion(to_core_event, to_events_v1),
    "horizontalpodautoscalers.autoscaling/v1": Conversion(to_autoscaling_v2, to_autoscaling_v1),
    "resourceclaims.resource.k8s.io/v1beta1": Conversion(to_claim, from_claim),
    "resourceclaimtemplates.resource.k8s.io/v1beta1": Conversion(to_claim_template, from_claim_template),
    "resourceslices.resource.k8s.io/v1beta1": Conversion(to_slice, from_slice),
}
"""By group resource and version. To add one: a row here; everything else finds it by `Kind.conversion`."""


def to_stored(conversion: str, doc: Document) -> Document:
    return CONVERSIONS[conversion].to_stored(doc) if conversion else doc


def from_stored(conversion: str, doc: Document) -> Document:
    return CONVERSIONS[conversion].from_stored(doc) if conversion else doc
