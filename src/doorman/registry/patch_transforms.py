"""Patches and applied configurations: from what was sent to a function on the stored document."""

from functools import partial
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.conversion import from_stored, to_stored
from doorman.api.machinery.decode_errors import DecodeError, json_type
from doorman.api.machinery.map_conversion import conversion_fault, converted
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldWalker, KeylessError
from doorman.api.patch.json_patch import in_order, json_patch, merge_patch, operation_faults
from doorman.api.patch.last_applied import applied_before, note_applied
from doorman.api.patch.managed_fields import Manager
from doorman.api.patch.server_side_apply import Applier, unheeded_members
from doorman.api.patch.strategic_merge_patch import strategic_merge
from doorman.api.patch.typed_config import config_faults, to_typed
from doorman.api.raw_members import RAW_MEMBERS, RawTexts, as_it_is, canonical, compact, replaced, without_texts
from doorman.api.well_known import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from doorman.base.bounds import STRICT_FAULTS_MAX
from doorman.base.clock import Instant
from doorman.base.errors import ApiError, Cause, bad_request, conflict
from doorman.base.go_format import go_json, go_value, quote
from doorman.base.json_types import Document, Transform
from doorman.registry.clean_documents import Body, kind_mismatch, resets_owners, scheme_of, with_owners_reset
from doorman.registry.strategies import strategy_of

JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

_INTERNAL: Final = 'the internal version of group "{}" in scheme {}'


class PatchBody(msgspec.Struct, frozen=True, kw_only=True):
    """A patch that was read, not yet applied to anything."""

    type: str
    body: Body

    @property
    def is_apply(self) -> bool:
        return self.type == APPLY_PATCH


def transform_of(
    schema: Schema,
    kind: Kind,
    patch: PatchBody,
    validation: str,
    warnings: list[str],
    *,
    is_components: bool = False,
) -> Transform:
    """The function the registry applies, perhaps more than once, to what is stored.

    `is_components`: the patch is one of our own components, which upstream send whole objects as protobuf.
    """
    told = len(warnings)
    in_patch = list(patch.body.duplicates)
    if patch.type == JSON_PATCH and validation != "Ignore":
        in_patch = [f"json patch {fault}" for fault in [*operation_faults(patch.body.value), *in_patch]]
    if patch.type == JSON_PATCH and validation == "Ignore" and not isinstance(patch.body.value, list):
        # Nobody looks for unknown fields in it, so it is read by another decoder.
        found = json_type(patch.body.value)
        raise bad_request(f"json: cannot unmarshal {found} into Go value of type jsonpatch.Patch")

    untouched = canonical if patch.type == STRATEGIC_MERGE_PATCH else compact
    untouched = as_it_is if is_components else untouched

    def transform(stored: Document) -> Document:
        touched = patch.body.value if patch.type == MERGE_PATCH else None
        texts = RawTexts(kind.storage, stored, touched) if kind.storage in RAW_MEMBERS else None
        live = {
            "kind": kind.kind,
            "apiVersion": kind.group_version,
            **from_stored(kind.conversion, without_texts(kind.storage, stored)),
        }
        patched = _patched(schema, kind, patch, live)
        if not isinstance(patched, dict):
            fault = f"json: cannot unmarshal {json_type(patched)} into Go value of type struct"
            raise _invalid_patch(patch, patched, f"couldn't get version/kind; json parse error: {fault}")
        found: list[str] = []
        known = None if patch.type == JSON_PATCH else live
        cleaned = _cleaned(schema, kind, patched, patch, validation, found, known, in_patch)
        warnings[told:] = found  # what an attempt before this one said is said again
        made = to_stored(kind.conversion, cleaned)
        return made if texts is None else texts.after(made, untouched)

    return transform


def _patched(schema: Schema, kind: Kind, patch: PatchBody, live: Document) -> Any:  # any JSON value
    if patch.type == JSON_PATCH:
        # Values go in as they were read, with what occurs twice in them.
        return json_patch(live, patch.body.value if patch.body.typed is None else patch.body.typed)
    _check_shape(patch)
    if patch.type == MERGE_PATCH:
        return merge_patch(live, patch.body.value)
    return strategic_merge(schema, kind.type_name, live, patch.body.value or {})


def _check_shape(patch: PatchBody) -> None:
    """Asked when there is something to patch: upstream looks for that first."""
    if patch.type == MERGE_PATCH and patch.body.value is None:
        raise bad_request("Invalid JSON Patch")
    if patch.type == STRATEGIC_MERGE_PATCH and patch.body.value is None:
        return
    if not isinstance(patch.body.value, dict):
        head = "error decoding patch: " if patch.type == MERGE_PATCH else ""
        found = json_type(patch.body.value)
        raise bad_request(f"{head}json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")


def _cleaned(
    schema: Schema,
    kind: Kind,
    patched: Document,
    patch: PatchBody,
    validation: str,
    warnings: list[str],
    known: Document | None,
    in_patch: list[str],
) -> Document:
    if patch.type == STRATEGIC_MERGE_PATCH:
        for member in ("kind", "apiVersion"):
            found = patched.get(member)
            if type(found) is not str and (fault := conversion_fault(schema, found, "string")):
                raise _invalid_patch(patch, patched, fault)
    is_internal = patch.type != STRATEGIC_MERGE_PATCH and not patched.get("apiVersion") and not kind.is_custom
    patched = _as_kind(kind, patched, patch)
    if resets_owners(patched):
        patched = with_owners_reset(patched)
    problems = list(in_patch)
    if is_internal:
        # Of no version it is read as what servers have inside, whose members have other names.
        problems += [f'unknown field "{name}"' for name in sorted(patched) if name not in ("kind", "apiVersion")]
        patched = {}
    elif kind.type_name:
        try:
            patched, unknown = _decoded(schema, kind, patched, patch, known)
        except DecodeError as error:
            wrong_type = (
                conversion_fault(schema, patched, f"@{kind.type_name}") if patch.type == STRATEGIC_MERGE_PATCH else None
            )
            raise _invalid_patch(patch, patched, wrong_type or str(error)) from error
        problems += unknown
    if not kind.is_custom:
        problems = problems[:STRICT_FAULTS_MAX]
    if problems:
        if validation == "Strict":
            raise _invalid_patch(patch, patched, f"strict decoding error: {', '.join(problems)}")
        if validation == "Warn":
            warnings += problems
    patched = dict(patched)
    patched.pop("kind", None)
    patched.pop("apiVersion", None)
    return patched


def _decoded(
    schema: Schema, kind: Kind, patched: Document, patch: PatchBody, known: Document | None
) -> tuple[Document, list[str]]:
    """The object that a patch made, and its unknown fields as a decoder meets them.

    A merge patch leaves members in order. What a strategic patch made is converted, by which numbers that are too large
    become others.
    """
    try:
        is_converted = patch.type == STRATEGIC_MERGE_PATCH
        cleaned, unknown = schema.clean(patched, kind.type_name, known=known, names_keys=not is_converted)
    except DecodeError:
        if patch.type == MERGE_PATCH:
            schema.clean(in_order(patched), kind.type_name)
        if patch.type != STRATEGIC_MERGE_PATCH:
            raise
        cleaned, unknown = schema.clean(converted(schema, patched, f"@{kind.type_name}"), kind.type_name)
    if unknown and patch.type == MERGE_PATCH:
        return cleaned, schema.clean(in_order(patched), kind.type_name)[1]
    return cleaned, sorted(unknown)


def _as_kind(kind: Kind, patched: Document, patch: PatchBody) -> Document:
    """The object of the kind that was patched: what a strategic patch says of that is not looked at."""
    version, name = patched.get("apiVersion"), patched.get("kind")
    if (version, name) == (kind.group_version, kind.kind):
        return patched
    if patch.type != STRATEGIC_MERGE_PATCH:
        for member, found in (("apiVersion", version), ("kind", name)):
            if found is not None and not isinstance(found, str):
                fault = f"json: cannot unmarshal {json_type(found)} into Go struct field .{member} of type string"
                raise _invalid_patch(patch, patched, f"couldn't get version/kind; json parse error: {fault}")
        if version or kind.is_custom:
            fault = kind_mismatch(kind, version or kind.group_version, name or kind.kind)
        else:
            named = str(name or kind.kind)
            where = _INTERNAL.format(kind.group, scheme_of(kind.group))
            fault = "" if named == kind.kind else f"no kind {quote(named)} is registered for {where}"
        if fault:
            raise _invalid_patch(patch, patched, fault)
    return {**patched, "kind": kind.kind, "apiVersion": kind.group_version}


def _invalid_patch(patch: PatchBody, patched: Document, fault: str) -> ApiError:
    """A strategic merge patch is shown as it was sent; of the others, what they made."""
    shown = quote(go_value(patch.body.value)) if patch.type == STRATEGIC_MERGE_PATCH else go_json(go_json(patched))
    body = f"Invalid value: {shown}: {fault}"
    cause = Cause(reason="FieldValueInvalid", message=body, field="patch")
    return ApiError(422, "Invalid", f' "" is invalid: patch: {body}', details={}, causes=[cause])


class ApplyPlan:
    """A server-side apply that was read and checked; `on` merges it into a live object."""

    def __init__(
        self,
        schema: Schema,
        kinds: Kinds,
        kind: Kind,
        patch: PatchBody,
        manager: Manager,
        *,
        force: bool,
        name: str,
        validation: str,
        warnings: list[str],
    ) -> None:
        self._applier = Applier(schema, kinds)
        self._kind = kind
        self._manager = manager
        self._force = force
        self._name = name
        self._schema = schema
        self.config = checked_config(schema, kind, patch)
        self._told = partial(tell_duplicates, patch, validation, warnings)
        self._where = _named(kind, patch.body.value)

    def on(self, live: Document | None, now: Instant) -> Document:
        conversion = self._kind.conversion
        shown = from_stored(conversion, without_texts(self._kind.storage, live)) if live is not None else None
        if live is not None:
            self.config["metadata"].setdefault("name", self._name)  # a new object has the name it was given
        uid = self.config.get("metadata", {}).get("uid")
        if live is None and uid:
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(self._kind.named, self._name, why)
        try:
            merged = self._applier.apply(
                self._kind,
                shown,
                self.config,
                self._manager,
                force=self._force,
                unowned=applied_before(self._schema, self._kind, shown, self._manager) if shown is not None else None,
                now=now,
                where=self._where,
                kept_metadata=strategy_of(self._kind).kept_metadata(self._kind, self._manager.subresource),
            )
        except KeylessError as error:
            raise self._untyped_live(shown or {}) from error
        note_applied(self._kind, merged, self.config, self._manager)
        typed = to_typed(self._schema, self._kind, merged, self._where)
        if shown is not None:
            # Also what this endpoint leaves as it is must be of its type.
            passed_over = unheeded_members(self._kind, self._manager.subresource)
            unheeded = {name: value for name, value in self.config.items() if name not in typed or name in passed_over}
            to_typed(self._schema, self._kind, {"metadata": {}, **unheeded}, self._where)
        self._told()
        if live is not None and shown is not None and _unmanaged(typed) == _unmanaged(shown):
            return _with_owners(live, typed)
        return replaced(self._kind.storage, to_stored(conversion, typed), canonical)

    def _untyped_live(self, live: Document) -> ApiError:
        """The object has lists whose elements nothing tells apart: whose field is whose cannot be said."""
        faults = " ".join(config_faults(self._schema, FieldWalker(self._schema), live, self._kind.type_name))
        where = _named(self._kind, live)
        if live.get("metadata", {}).get("managedFields"):
            return ApiError(500, "", f"failed to create typed live object ({where}): {faults}")
        text = f"failed to convert new object ({where}) to smd typed: {faults}"
        return ApiError(500, "", f"failed to create manager for existing fields: {text}")


def _with_owners(live: Document, typed: Document) -> Document:
    """Where no value is changed the object stays as it is stored: nothing is converted, and texts are kept."""
    metadata = _unmanaged(live)["metadata"]
    if owners := typed["metadata"].get("managedFields"):
        metadata["managedFields"] = owners
    return {**live, "metadata": metadata}


def _unmanaged(doc: Document) -> Document:
    metadata = {name: value for name, value in doc["metadata"].items() if name != "managedFields"}
    return {**doc, "metadata": metadata}


def _untyped(where: str, faults: list[str]) -> ApiError:
    text = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
    return ApiError(500, "", f"failed to create typed patch object ({where}): {text}")


def _named(kind: Kind, config: Document) -> str:
    """An applied configuration as messages name it."""
    metadata = config.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    named = (found if isinstance(found := given.get(part), str) else "" for part in ("namespace", "name"))
    return f"{'/'.join(named)}; {kind.group}/{kind.version}, Kind={kind.kind}"


def tell_duplicates(patch: PatchBody, validation: str, warnings: list[str]) -> None:
    """Of a configuration that was applied: what occurs twice in it is looked for last."""
    if not patch.body.duplicates or validation == "Ignore":
        return
    if validation == "Strict":
        listed = "".join(f"\n  {duplicate}" for duplicate in patch.body.duplicates)
        text = f"error converting YAML to JSON: yaml: unmarshal errors:{listed}"
        raise bad_request(f"error strict decoding patch: {text}")
    warnings += [duplicate for duplicate in patch.body.duplicates if duplicate not in warnings]


def checked_config(schema: Schema, kind: Kind, patch: PatchBody) -> Document:
    """The configuration that a patch applies, without kind and apiVersion."""
    config: Document = patch.body.value
    version, name = (found if isinstance(found := config.get(member), str) else "" for member in ("apiVersion", "kind"))
    if (version, name) != (kind.group_version, kind.kind):
        group, _, own = version.rpartition("/")
        shown = f"{group}/{own}, Kind={name}" if "/" not in group else "/, Kind="
        raise bad_request(f"invalid object type: {shown}")
    given = config.get("metadata") or {}
    metadata = given if isinstance(given, dict) else {}
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if kind.type_name and (faults := config_faults(schema, FieldWalker(schema), config, kind.type_name)):
        raise _untyped(_named(kind, config), faults)
    out = {member: value for member, value in config.items() if member not in ("kind", "apiVersion")}
    out["metadata"] = dict(metadata)
    return out
