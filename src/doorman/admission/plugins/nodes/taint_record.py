"""TaintRecord: keeps who added each taint of a node, when, why and until when, in one annotation.

A DeviceTaintRule, whose one taint is that of many devices, has the same. The rules are those of
`doorman.semantics.taints.taint_records`. The annotation is settled anew with every write, so that it cannot be
forged, and so that a client that knows nothing of it does not lose it.
"""

from collections.abc import Sequence
from typing import Final

from doorman.admission.plugin_contract import CREATE_AND_UPDATE, Attributes, ClusterReader, Interest, requested_name
from doorman.api.taints import Taint
from doorman.api.views.resource.devices import TAINT_RULES
from doorman.base.clock import Instant
from doorman.base.errors import invalid, invalid_object
from doorman.base.json_types import Document
from doorman.semantics.taints.taint_records import ANNOTATION, RecordsError, decide_records, to_annotation

INTERESTS: Final = (
    Interest(resource="nodes", operations=CREATE_AND_UPDATE),
    Interest(resource=TAINT_RULES, operations=CREATE_AND_UPDATE),
)


class TaintRecorder:
    name = "TaintRecord"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, _cluster: ClusterReader, now: Instant) -> None:
        obj = attributes.obj
        assert obj is not None, "a write has an object"
        old = attributes.old or {}
        written, known = _annotation(obj), _annotation(old)
        raw, raw_before = _raw_taints(obj), _raw_taints(old)
        if raw == raw_before and written == known:
            return
        try:
            records = decide_records(
                [_taint(one) for one in raw],
                [_taint(one) for one in raw_before],
                written=written,
                known=known,
                user=attributes.user.name,
                manager=attributes.manager,
                now=now,
            )
        except RecordsError as error:
            fault = invalid(f"metadata.annotations[{ANNOTATION}]", written, str(error))
            raise invalid_object(attributes.kind, attributes.group, requested_name(attributes), [fault]) from error
        _annotate(obj, to_annotation(records) if records else "")


def _annotation(obj: Document) -> str:
    found: str = ((obj.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION, "")
    return found


def _raw_taints(obj: Document) -> list[Document]:
    """Of a node, or the one of a rule."""
    spec = obj.get("spec") or {}
    return [spec["taint"]] if spec.get("taint") else spec.get("taints") or []


def _taint(raw: Document) -> Taint:
    """Of a clean document: its members are texts, if they are there."""
    return Taint(
        key=raw.get("key") or "",
        value=raw.get("value") or "",
        effect=raw.get("effect") or "",
        time_added=raw.get("timeAdded") or "",
    )


def _annotate(obj: Document, text: str) -> None:
    metadata = obj.setdefault("metadata", {})
    others = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != ANNOTATION}
    if text:
        metadata["annotations"] = {**others, ANNOTATION: text}
    elif others:
        metadata["annotations"] = others
    else:
        metadata.pop("annotations", None)
