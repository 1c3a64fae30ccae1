"""What a kind itself has to say to a document: defaults, its strategy, field owners, validation. Pure.

Built-in kinds have theirs in tables; a custom kind's are in the schema of its definition.
"""

from doorman.api.json_values import is_same
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import Structural, TooMuch, fill_defaults
from doorman.api.patch.managed_fields import ManagedFields, Manager
from doorman.base.bounds import CEL_COST_MAX, MADE_BYTES_MAX
from doorman.base.clock import Instant
from doorman.base.errors import internal, invalid_object, no_such_resource
from doorman.base.json_types import Document
from doorman.registry.kinds.disabled_pod_fields import drop_disabled_fields
from doorman.registry.kinds.pod_strategy import settle_addresses
from doorman.registry.object_size import too_large_to_store
from doorman.registry.strategies import strategy_of
from doorman.registry.write_target import SubresourceObject, WriteTarget
from doorman.validation.apiextensions.structural import custom_validator
from doorman.validation.context import distinct
from doorman.validation.defaults import WITH_STATUS_DEFAULTS, defaulter_of
from doorman.validation.metadata import common_update_errors
from doorman.validation.validators import Context, Validator, validator_of


class Unchanged(Exception):
    """A proposal that changes nothing."""


class KindRules:
    def __init__(self, schema: Schema, kinds: Kinds, *, comparison_operators: bool) -> None:
        self._schema = schema
        self._kinds = kinds
        self._comparison_operators = comparison_operators
        self.managed = ManagedFields(schema, kinds)

    def default(self, kind: Kind, doc: Document, now: Instant, old: Document | None = None) -> None:
        """Fill in what the kind gives by default, in place. `old` is what is stored, if anything is."""
        defaulter = defaulter_of(kind)
        if defaulter is not None:
            defaulter(doc)
        elif kind.is_custom:
            try:
                fill_defaults(doc, self._structural(kind))
            except TooMuch as error:
                raise too_large_to_store(MADE_BYTES_MAX) from error
        if (default_times := strategy_of(kind).default_times) is not None:
            default_times(doc, now)
        self.complete(kind, doc, old)

    def default_status(self, kind: Kind, doc: Document, now: Instant, old: Document) -> None:
        """The same for a write of the status alone."""
        self.complete(kind, doc, old)
        if kind.storage == "pods" and (status := doc.get("status")):
            settle_addresses(status)
        if kind.storage in WITH_STATUS_DEFAULTS:
            self.default(kind, doc, now, old)

    def complete(self, kind: Kind, doc: Document, old: Document | None = None) -> None:
        """Put in the members that are always written, in place."""
        self._schema.complete(doc, self._kinds.stored(kind).type_name, known=old)

    def before_create(self, kind: Kind, doc: Document, now: Instant) -> None:
        """The last changes of a new object, which has its name now, and whether it is valid."""
        drop_disabled_fields(kind.storage, doc)
        strategy_of(kind).create(kind, doc, now)
        self._schema.complete_head(doc, self._kinds.stored(kind).type_name)
        errors = self._validator(kind).create(doc, self._context("", kind))
        if errors:
            errors = distinct(errors)
            raise invalid_object(kind.kind, self._kinds.stored(kind).group, doc["metadata"].get("name", ""), errors)

    def before_update(self, target: WriteTarget, new: Document, old: Document, manager: Manager, now: Instant) -> None:
        """The same of an object that is changed. Raises `Unchanged` when it is not."""
        kind, subresource = target.kind, target.subresource
        strategy = strategy_of(kind)
        seen = strategy.owned(kind, subresource, new, old)
        if seen is not None:
            # Before the strategy: what it puts in or takes back is nobody's doing.
            self.managed.track_update(kind, seen, old, manager, now)
            if (owners := seen["metadata"].get("managedFields")) is None:
                new["metadata"].pop("managedFields", None)
            else:
                new["metadata"]["managedFields"] = owners
        if subresource != "status":
            drop_disabled_fields(kind.storage, new)
        strategy.for_update(subresource)(kind, new, old, now)
        self._schema.complete_head(new, self._kinds.stored(kind).type_name)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if seen is None:
            self.managed.track_update(kind, new, old, manager, now)
        if is_same(new, old):
            raise Unchanged
        errors = distinct(common_update_errors(new, old))
        errors += self._validator(kind).update(new, old, self._context(subresource, kind))
        if errors:
            if not kind.is_custom:  # of which upstream tells as often as it looks
                errors = distinct(errors)
            raise invalid_object(kind.kind, self._kinds.stored(kind).group, target.name, errors)

    def clean_after_webhooks(self, kind: Kind, obj: Document, now: Instant, part: SubresourceObject | None) -> None:
        """What webhooks made of an object, in place: it is looked at as if a client had sent it."""
        try:
            type_name = self._kinds.stored(kind).type_name if part is None else part.type_name
            cleaned, _ = self._schema.clean(obj, type_name)
        except DecodeError as error:
            raise internal(f"a webhook made no {kind.kind} of the object: {error}") from error
        if cleaned is not obj:
            obj.clear()
            obj.update(cleaned)
        if part is None:
            self.default(kind, obj, now)

    def weight(self, kind: Kind, weight_bytes: int) -> int:
        """Of the checks of an object: rules in CEL may take up to their budget, however small the object is."""
        found = self._schema.structural(kind.type_name) if kind.is_custom else None
        return CEL_COST_MAX if found is not None and found.has_rules else weight_bytes

    def _validator(self, kind: Kind) -> Validator:
        return custom_validator(self._structural(kind), kind.scale) if kind.is_custom else validator_of(kind.storage)

    def _structural(self, kind: Kind) -> Structural:
        found = self._schema.structural(kind.type_name)
        if found is None:
            # Its definition was changed or deleted while the request was under way.
            raise no_such_resource()
        return found

    def _context(self, subresource: str, kind: Kind) -> Context:
        return Context(
            comparison_operators=self._comparison_operators, subresource=subresource, group_version=kind.group_version
        )
