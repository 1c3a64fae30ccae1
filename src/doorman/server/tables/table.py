"""The Table answer: all columns, one row an object. The client hides the wide ones."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from doorman.api.kinds import Kind
from doorman.api.machinery.conversion import from_stored
from doorman.api.well_known import TEMPLATE_GENERATION_ANNOTATION
from doorman.base.clock import Instant
from doorman.base.errors import bad_request
from doorman.base.json_types import Document
from doorman.server.tables.admission_columns import ADMISSION_COLUMNS
from doorman.server.tables.cluster_columns import CLUSTER_COLUMNS
from doorman.server.tables.column import TableColumn, at, name_column
from doorman.server.tables.core_columns import CORE_COLUMNS, pod_row_conditions
from doorman.server.tables.custom_columns import columns_of
from doorman.server.tables.migration_columns import MIGRATION_COLUMNS
from doorman.server.tables.networking_columns import NETWORK_COLUMNS
from doorman.server.tables.storage_columns import STORAGE_COLUMNS
from doorman.server.tables.workload_columns import WORKLOAD_COLUMNS

COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    **CORE_COLUMNS,
    **ADMISSION_COLUMNS,
    **CLUSTER_COLUMNS,
    **MIGRATION_COLUMNS,
    **WORKLOAD_COLUMNS,
    **NETWORK_COLUMNS,
    **STORAGE_COLUMNS,
}

DEFAULT_COLUMNS: Final = (
    name_column(),
    TableColumn("Created At", lambda doc, _now: doc["metadata"].get("creationTimestamp"), type="date"),
)


ROW_KEYS: Final[Mapping[str, Callable[[Document], Any]]] = {
    "flowschemas.flowcontrol.apiserver.k8s.io": lambda doc: at(doc, "spec.matchingPrecedence", 0),
}
"""By what rows are in order before they are by name, where they are: flow schemas are asked in that order."""


def table_of(
    kind: Kind, docs: list[Document], metadata: Document, *, version: str, include_object: str, now: Instant
) -> Document:
    """`docs` are as they are stored: columns are about that."""
    if include_object not in ("", "Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include_object}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    columns = columns_of(kind.columns) if kind.is_custom else COLUMNS.get(kind.storage, DEFAULT_COLUMNS)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in columns if not column.is_untitled],
        "rows": [_row(kind, doc, columns, include_object, version, now) for doc in docs],
    }


def _definition(column: TableColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": 1 if column.wide else 0,
    }


def _row(
    kind: Kind, doc: Document, columns: tuple[TableColumn, ...], include_object: str, version: str, now: Instant
) -> Document:
    row: Document = {"cells": [column.cell(doc, now) for column in columns]}
    if kind.storage == "pods":
        conditions = pod_row_conditions(doc)
        if conditions:
            row["conditions"] = conditions
    if include_object == "None":
        row["object"] = None
    elif include_object == "Object":
        row["object"] = {"kind": kind.kind, "apiVersion": kind.group_version, **from_stored(kind.conversion, doc)}
    else:
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": metadata_alone(kind, doc),
        }
    return row


def metadata_alone(kind: Kind, doc: Document) -> Document:
    """What is shown of an object of which metadata is asked for: the generation of a DaemonSet's template is an
    annotation only where the spec is shown, too.
    """
    metadata: Document = doc["metadata"]
    annotations = metadata.get("annotations") or {}
    if kind.storage != "daemonsets.apps" or TEMPLATE_GENERATION_ANNOTATION not in annotations:
        return metadata
    kept = {name: value for name, value in annotations.items() if name != TEMPLATE_GENERATION_ANNOTATION}
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": kept} if kept else rest
