"""Objects as rows: what `kubectl get` shows. One module a family of kinds; `COLUMNS` maps a storage to its columns."""

from doorman.server.tables.table import table_of

__all__ = ["table_of"]
