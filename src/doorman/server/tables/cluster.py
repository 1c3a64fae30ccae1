"""Columns of configuration and cluster objects."""

from collections.abc import Mapping
from typing import Final

from doorman.api.schema import Document
from doorman.base.clock import Instant
from doorman.server.tables.column import Cell, Column, age_column, at, name_column


def _count(*members: str) -> Column:
    def cell(doc: Document, _now: Instant) -> Cell:
        return sum(len(doc.get(member) or {}) for member in members)

    return Column("Data", cell)


CLUSTER_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "configmaps": (name_column(), _count("data", "binaryData"), age_column()),
    "secrets": (name_column(), Column("Type", lambda doc, _now: doc.get("type", "")), _count("data"), age_column()),
    "serviceaccounts": (name_column(), age_column()),
    "leases.coordination.k8s.io": (
        name_column(),
        Column("Holder", lambda doc, _now: at(doc, "spec.holderIdentity", "")),
        age_column(),
    ),
    "priorityclasses.scheduling.k8s.io": (
        name_column(),
        Column("Value", lambda doc, _now: doc.get("value", 0), type="integer"),
        Column("Global-Default", lambda doc, _now: doc.get("globalDefault", False), type="boolean"),
        age_column(),
        Column("PreemptionPolicy", lambda doc, _now: doc.get("preemptionPolicy", "")),
    ),
}
