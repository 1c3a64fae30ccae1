"""Events, as the core group stores them; those of the other group are converted before they come here."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.base.errors import FieldError, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import path_segment_faults, qualified_name_faults
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update

_WORD_BYTES_MAX: Final = 128
_NOTE_BYTES_MAX: Final = 1024
_TYPES: Final = ("Normal", "Warning")
_OTHER_NAMESPACE: Final = "does not match event.namespace"
_CLUSTER_NAMESPACES: Final = ("default", "kube-system")

_FIXED: Final = {
    "involvedObject": "involvedObject", "reason": "reason", "message": "message", "source": "source",
    "firstTimestamp": "firstTimestamp", "lastTimestamp": "lastTimestamp", "count": "count", "type": "type",
    "eventTime": "eventTime", "action": "action", "related": "related", "reportingComponent": "reportingController",
    "reportingInstance": "reportingInstance",
}  # fmt: skip
"""What an update through events.k8s.io may not change, and what the API calls it."""


_TEXTS: Final = ("reason", "message", "type", "action", "reportingComponent", "reportingInstance")
EVENTS_V1: Final = "events.k8s.io/v1"
_UNSET: Final = "needs to be unset"


def validate_event_create(doc: Document, context: Context) -> list[FieldError]:
    """The core group lets through what old clients send; the other one, written through, is strict."""
    errors = _base_errors(doc, context)
    if context.group_version == EVENTS_V1:
        return [*errors, *validate_metadata(doc), *_strict_errors(doc)]
    return errors or validate_metadata(doc, path_segment_faults)


def validate_event_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *_base_errors(new, context)]
    if context.group_version == EVENTS_V1:
        if new.get("series") != old.get("series"):
            errors.extend(_series_errors(new.get("series")))
        errors.extend(
            invalid(shown, new.get(field, "" if field in _TEXTS else None), IMMUTABLE)
            for field, shown in _FIXED.items()
            if new.get(field) != old.get(field)
        )
    return distinct(errors)


def _base_errors(doc: Document, context: Context) -> list[FieldError]:
    return _new_style_errors(doc, context) if doc.get("eventTime") else _namespace_errors(doc)


def _strict_errors(doc: Document) -> list[FieldError]:
    errors = _series_errors(doc.get("series"))
    if not doc.get("eventTime"):
        errors.append(required("eventTime"))
    if (kind := doc.get("type", "")) not in _TYPES:
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if doc.get(field):
            errors.append(invalid(field, "", _UNSET))
    return errors


def _namespace_errors(doc: Document) -> list[FieldError]:
    namespace = doc["metadata"].get("namespace", "")
    about = (doc.get("involvedObject") or {}).get("namespace", "")
    if not about:
        fits = namespace in ("", "default")
    else:
        fits = about == namespace
    return [] if fits else [invalid("involvedObject.namespace", about, _OTHER_NAMESPACE)]


def _new_style_errors(doc: Document, context: Context) -> list[FieldError]:
    shown = "reportingController" if context.group_version == EVENTS_V1 else "reportingComponent"
    errors: list[FieldError] = []
    namespace = doc["metadata"].get("namespace", "")
    about = (doc.get("involvedObject") or {}).get("namespace", "")
    if not about and namespace not in _CLUSTER_NAMESPACES:
        errors.append(invalid("involvedObject.namespace", about, _OTHER_NAMESPACE))
    controller = doc.get("reportingComponent", "")
    if not controller:
        errors.append(required(shown))
    errors.extend(invalid(shown, controller, fault) for fault in qualified_name_faults(controller))
    for field in ("reportingInstance", "action", "reason"):
        errors.extend(_word_errors(doc, field))
    if len(doc.get("message", "").encode()) > _NOTE_BYTES_MAX:
        errors.append(invalid("message", "", f"can have at most {_NOTE_BYTES_MAX} characters"))
    return errors


def _word_errors(doc: Document, field: str) -> list[FieldError]:
    word = doc.get(field, "")
    if not word:
        return [required(field)]
    if len(word.encode()) > _WORD_BYTES_MAX:
        return [invalid(field, "", f"can have at most {_WORD_BYTES_MAX} characters")]
    return []


def _series_errors(series: Mapping[str, Any] | None) -> list[FieldError]:
    if series is None:
        return []
    errors: list[FieldError] = []
    if series.get("count", 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors
