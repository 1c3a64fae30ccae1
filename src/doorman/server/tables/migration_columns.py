"""Columns of versions in which objects are stored, and of migrations between them."""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.server.tables.column import Cell, TableColumn, age_column, at, name_column, state_of, text

_SHOWN_MAX: Final = 3
_STATES: Final = ("Running", "Succeeded", "Failed")


def _servers(doc: Document, _now: Instant) -> Cell:
    """Which server stores which version: the first few."""
    found = at(doc, "status.storageVersions") or ()
    if not found:
        return "<unset>"
    shown = ",".join(f"{one.get('apiServerID', '')}={one.get('encodingVersion', '')}" for one in found[:_SHOWN_MAX])
    return shown if len(found) <= _SHOWN_MAX else f"{shown} + {len(found) - _SHOWN_MAX} more..."


def _resource(doc: Document, _now: Instant) -> Cell:
    resource = at(doc, "spec.resource") or {}
    group = resource.get("group")
    return f"{resource.get('resource', '')}.{group}" if group else resource.get("resource", "")


MIGRATION_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "storageversions.internal.apiserver.k8s.io": (
        name_column(),
        text("CommonEncodingVersion", "status.commonEncodingVersion", empty="<unset>"),
        TableColumn("StorageVersions", _servers),
        age_column(),
    ),
    "storageversionmigrations.storagemigration.k8s.io": (
        msgspec.structs.replace(name_column(), format=""),
        TableColumn("Resource", _resource),
        TableColumn("Status", lambda doc, _now: state_of(doc, _STATES, "Unknown")),
    ),
}
