"""What `kubectl apply` left behind in an annotation, for who goes over to `kubectl apply --server-side`: fields that
are still as they were applied then are nobody else's, and the annotation is kept up to date.
"""

from typing import Final

import msgspec

from doorman.api.kinds import Kind
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldWalker
from doorman.api.patch.field_set import FieldSet, difference
from doorman.api.patch.managed_fields import Manager
from doorman.api.patch.typed_config import config_faults
from doorman.api.well_known import LAST_APPLIED
from doorman.base.json_types import Document

_KUBECTL: Final = "kubectl"
"""Whoever wants none of it names another field manager."""


def applied_before(schema: Schema, kind: Kind, live: Document, manager: Manager) -> FieldSet | None:
    """The fields of an object, as this version of its kind shows it, that are as the annotation says."""
    text = _annotation(live)
    if manager.name != _KUBECTL or not text:
        return None
    try:
        config = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(config, dict) or config.get("apiVersion") != kind.group_version:
        return None
    walker = FieldWalker(schema)
    if config_faults(schema, walker, config, kind.type_name):
        return None
    config = {"metadata": {}, **{name: value for name, value in config.items() if name not in ("apiVersion", "kind")}}
    since = walker.diff(live, config, kind.type_name)
    return difference(difference(walker.held(config, kind.type_name), since.changed), since.removed)


def note_applied(kind: Kind, merged: Document, config: Document, manager: Manager) -> None:
    """Put what was applied into the annotation of an object that has one, in place."""
    if manager.name == _KUBECTL and _annotation(merged):
        applied = {"apiVersion": kind.group_version, "kind": kind.kind, **config}
        text = msgspec.json.encode(applied, order="sorted").decode() + "\n"
        merged["metadata"]["annotations"] = {**merged["metadata"]["annotations"], LAST_APPLIED: text}


def _annotation(doc: Document) -> str:
    text = (doc["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    return text if isinstance(text, str) else ""
