"""Objects as rows: what `kubectl get` shows. One module a family of kinds; `COLUMNS` maps a storage to its columns."""

from doorman.server.tables.table import ROW_KEYS, metadata_alone, table_of

__all__ = ["ROW_KEYS", "metadata_alone", "table_of"]
