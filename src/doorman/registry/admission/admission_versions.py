"""The versions of a resource, for admission: how each names it, and how objects look in it.

Built-in kinds are proposed in the form they are stored in, and each version has its face
(`doorman.api.machinery.conversion`). Custom objects are proposed in the version of the request, and converted by name
or by their definition's webhook.
"""

from collections.abc import Mapping, Sequence

import msgspec

from doorman.admission.plugin_contract import GroupVersionForm, RequestForms, Unconvertible
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.conversion import from_stored, to_stored
from doorman.api.machinery.schema import Document
from doorman.registry.custom.custom_versions import CustomVersions


class Named(msgspec.Struct, frozen=True):
    """What admission calls the object of a request. Without `forms` there is but one version."""

    kind: str
    kind_version: str
    forms: RequestForms | None


class FormsOf:
    """Finds the forms of a kind. They are kept as long as no kind changes: every write asks."""

    def __init__(self, kinds: Kinds, versions: CustomVersions) -> None:
        self._kinds = kinds
        self._versions = versions
        self._edition = -1
        self._known: dict[tuple[str, str, str, str], Named] = {}

    def of(self, kind: Kind, subresource: str) -> Named:
        if self._edition != self._kinds.edition:
            self._edition = self._kinds.edition
            self._known.clear()
        key = (kind.group, kind.version, kind.resource, subresource)
        found = self._known.get(key)
        if found is None:
            own = form_of(kind, subresource)
            found = self._known[key] = Named(own.kind, own.kind_version, self._forms(kind, subresource))
        return found

    def _forms(self, kind: Kind, subresource: str) -> RequestForms | None:
        rows = [
            row
            for row in self._kinds.rows
            if row.storage == kind.storage and (not subresource or row.subresource(subresource) is not None)
        ]
        if len(rows) < 2:
            return None
        forms = {form_of(row, subresource): row for row in rows}
        others = [form for form in forms if form != form_of(kind, subresource)]
        if any(form.kind != row.kind for form, row in forms.items()):
            # A scale is a scale, whatever it is the scale of.
            return _BuiltinForms(dict.fromkeys(forms, ""), others)
        if kind.is_custom:
            return _CustomForms(kind, others, self._versions)
        return _BuiltinForms({form: row.conversion for form, row in forms.items()}, others)


def form_of(kind: Kind, subresource: str) -> GroupVersionForm:
    row = kind.subresource(subresource) if subresource else None
    if row is None:
        return _form(kind, kind.kind, kind.group_version)
    if not row.version:
        return _form(kind, row.kind, kind.group_version)
    return _form(kind, row.kind, f"{row.group}/{row.version}" if row.group else row.version)


def _form(kind: Kind, name: str, version: str) -> GroupVersionForm:
    return GroupVersionForm(
        group=kind.group, version=kind.version, resource=kind.resource, kind=name, kind_version=version
    )


class _BuiltinForms:
    needs_webhook = False

    def __init__(self, conversions: Mapping[GroupVersionForm, str], others: Sequence[GroupVersionForm]) -> None:
        self._conversions = conversions
        self.others = others

    def show(self, doc: Document, form: GroupVersionForm) -> Document:
        return from_stored(self._conversions[form], doc)

    def take(self, doc: Document, form: GroupVersionForm) -> Document:
        return to_stored(self._conversions[form], doc)

    async def ask_to_show(self, doc: Document, form: GroupVersionForm) -> Document:
        return self.show(doc, form)

    async def ask_to_take(self, doc: Document, form: GroupVersionForm) -> Document:
        return self.take(doc, form)


class _CustomForms:
    def __init__(self, kind: Kind, others: Sequence[GroupVersionForm], versions: CustomVersions) -> None:
        self._kind = kind
        self._versions = versions
        self.others = others
        self.needs_webhook = kind.converter is not None

    def show(self, doc: Document, form: GroupVersionForm) -> Document:
        return self._at_once(doc, self._kind.version, form.version)

    def take(self, doc: Document, form: GroupVersionForm) -> Document:
        return self._at_once(doc, form.version, self._kind.version)

    async def ask_to_show(self, doc: Document, form: GroupVersionForm) -> Document:
        return await self._versions.between(self._kind, doc, self._kind.version, form.version)

    async def ask_to_take(self, doc: Document, form: GroupVersionForm) -> Document:
        return await self._versions.between(self._kind, doc, form.version, self._kind.version)

    def _at_once(self, doc: Document, version: str, wanted: str) -> Document:
        if version == wanted:
            return doc
        if self.needs_webhook:
            raise Unconvertible("it takes the definition's webhook")
        return self._versions.pruned(self._kind, doc, wanted)
