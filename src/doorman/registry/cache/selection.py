"""Which objects of a kind a reader wants: a namespace, a label selector, field terms."""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from doorman.api.machinery.field_selectors import DOCUMENT_FIELDS, FIELDS, FieldTerm, path_reader
from doorman.registry.cache.stored_object import Stored

INDEXED: Final = ("metadata.name", "spec.nodeName")


class LabelMatcher(Protocol):
    def matches(self, labels: Mapping[str, str]) -> bool: ...


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    storage: str
    namespace: str = ""
    labels: LabelMatcher | None = None
    fields: tuple[FieldTerm, ...] = ()

    @property
    def is_everything(self) -> bool:
        """No selector; a namespace is not one."""
        return self.labels is None and not self.fields

    def pin(self, field: str) -> str | None:
        """The one value the field must have, if the selection says so."""
        return next((term.value for term in self.fields if term.field == field and term.is_equal), None)

    @property
    def superset(self) -> "Selection":
        """What an index alone answers: quick to read, and to be looked through with `admits`."""
        pinned = tuple(term for term in self.fields if term.is_equal and term.field in INDEXED)
        return Selection(storage=self.storage, namespace=self.namespace, fields=pinned)

    def admits(self, stored: Stored) -> bool:
        if self.namespace and not stored.key.startswith(self.namespace + "/"):
            return False
        if self.labels is not None and not self.labels.matches(stored.labels):
            return False
        return not self.fields or self._fields_admit(stored)

    def _fields_admit(self, stored: Stored) -> bool:
        readers = FIELDS.get(self.storage, {})
        doc = None
        for term in self.fields:
            if term.field == "metadata.name":
                found = stored.name
            elif term.field == "metadata.namespace":
                found = stored.namespace
            elif term.field in readers:
                found = readers[term.field](stored.view)
            else:
                doc = doc or stored.document()
                known = DOCUMENT_FIELDS.get(self.storage, {}).get(term.field)
                found = (known or path_reader(term.field))(doc)
            if not term.admits(found):
                return False
        return True
