"""Objects as rows: what `kubectl get` shows. One module a family of kinds; `COLUMNS` maps a storage to its columns."""

from doorman.server.tables.table import metadata_alone, table_of

__all__ = ["metadata_alone", "table_of"]
