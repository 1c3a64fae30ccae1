"""Patches and applied configurations: from what was sent to a function on the stored document."""

from collections.abc import Callable
from typing import Final

import msgspec

from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.conversion import from_stored, to_stored
from doorman.api.machinery.decode_errors import DecodeError, json_type
from doorman.api.machinery.map_conversion import conversion_fault, converted
from doorman.api.machinery.schema import Document, Schema
from doorman.api.patch.field_paths import FieldWalker, KeylessError
from doorman.api.patch.json_patch import json_patch, merge_patch, operation_faults
from doorman.api.patch.managed_fields import Manager
from doorman.api.patch.server_side_apply import Applier, with_zeros
from doorman.api.patch.strategic_merge_patch import strategic_merge
from doorman.api.patch.typed_config import config_faults
from doorman.api.well_known import LAST_APPLIED, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from doorman.base.bounds import STRICT_FAULTS_MAX
from doorman.base.clock import Instant
from doorman.base.errors import ApiError, Cause, bad_request, conflict
from doorman.base.go_format import go_json, go_value, quote
from doorman.registry.clean_documents import Body, kind_mismatch

JSON_PATCH: Final = "application/json-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

Transform = Callable[[Document], Document]


class PatchBody(msgspec.Struct, frozen=True, kw_only=True):
    """A patch that was read, not yet applied to anything."""

    type: str
    body: Body

    @property
    def is_apply(self) -> bool:
        return self.type == APPLY_PATCH


def transform_of(schema: Schema, kind: Kind, patch: PatchBody, validation: str, warnings: list[str]) -> Transform:
    """The function the registry applies, perhaps more than once, to what is stored."""
    told = len(warnings)
    in_patch = list(patch.body.duplicates)
    if patch.type == JSON_PATCH and validation != "Ignore":
        in_patch = [f"json patch {fault}" for fault in [*operation_faults(patch.body.value), *in_patch]]
    if patch.type == JSON_PATCH and validation == "Ignore" and not isinstance(patch.body.value, list):
        # Nobody looks for unknown fields in it, so it is read by another decoder.
        found = json_type(patch.body.value)
        raise bad_request(f"json: cannot unmarshal {found} into Go value of type jsonpatch.Patch")

    def transform(stored: Document) -> Document:
        live = {"kind": kind.kind, "apiVersion": kind.group_version, **from_stored(kind.conversion, stored)}
        patched = _patched(schema, kind, patch, live)
        found: list[str] = []
        known = None if patch.type == JSON_PATCH else live
        cleaned = _cleaned(schema, kind, patched, patch, validation, found, known, in_patch)
        warnings[told:] = found  # what an attempt before this one said is said again
        return to_stored(kind.conversion, cleaned)

    return transform


def _patched(schema: Schema, kind: Kind, patch: PatchBody, live: Document) -> Document:
    if patch.type == JSON_PATCH:
        return json_patch(live, patch.body.value)
    if patch.type == MERGE_PATCH:
        return merge_patch(live, patch.body.value)
    return strategic_merge(schema, kind.type_name, live, patch.body.value)


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
            if fault := conversion_fault(schema, patched.get(member), "string"):
                raise _invalid_patch(patch, patched, fault)
    patched = _as_kind(kind, patched, patch)
    problems = list(in_patch)
    if kind.type_name:
        try:
            patched, unknown = _decoded(schema, kind, patched, patch, known)
        except DecodeError as error:
            wrong_type = (
                conversion_fault(schema, patched, f"@{kind.type_name}") if patch.type == STRATEGIC_MERGE_PATCH else None
            )
            raise _invalid_patch(patch, patched, wrong_type or str(error)) from error
        problems += unknown if patch.type == MERGE_PATCH else sorted(unknown)
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
    """What a strategic patch made is converted, by which numbers that are too large become others."""
    try:
        return schema.clean(patched, kind.type_name, known=known)
    except DecodeError:
        if patch.type != STRATEGIC_MERGE_PATCH:
            raise
        return schema.clean(converted(schema, patched, f"@{kind.type_name}"), kind.type_name)


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
        fault = kind_mismatch(kind, version or kind.group_version, name or kind.kind)
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
        self.config = checked_config(schema, kind, patch, name, validation, warnings)

    def on(self, live: Document | None, now: Instant) -> Document:
        conversion = self._kind.conversion
        shown = from_stored(conversion, live) if live is not None else None
        uid = self.config.get("metadata", {}).get("uid")
        if live is None and uid:
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(self._kind.named, self._name, why)
        try:
            merged = self._applier.apply(self._kind, shown, self.config, self._manager, force=self._force, now=now)
        except KeylessError as error:
            text = f"associative list with keys has an element that omits key field {quote(str(error))}"
            raise ApiError(500, "", f"failed to create typed live object: {text}") from error
        annotations = merged["metadata"].get("annotations", {})
        if self._manager.name == "kubectl" and annotations.get(LAST_APPLIED):
            applied = {"apiVersion": self._kind.group_version, "kind": self._kind.kind, **self.config}
            text = msgspec.json.encode(applied, order="sorted").decode() + "\n"
            merged["metadata"]["annotations"] = {**annotations, LAST_APPLIED: text}
        if not self._kind.is_custom:
            merged, _ = self._schema.clean(merged, self._kind.type_name)  # of lists that were applied empty
        return to_stored(conversion, merged)


def _untyped(where: str, faults: list[str]) -> ApiError:
    text = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
    return ApiError(500, "", f"failed to create typed patch object ({where}): {text}")


def _read_config(
    schema: Schema, walker: FieldWalker, kind: Kind, config: Document, where: str
) -> tuple[Document, list[str]]:
    try:
        return schema.clean(config, kind.type_name)
    except DecodeError as error:
        if kind.is_custom:
            raise ApiError(500, "", f"failed to create typed patch object ({where}): {error}") from error
        if faults := config_faults(schema, walker, config, kind.type_name):
            raise _untyped(where, faults) from error
    try:
        return schema.clean(converted(schema, config, f"@{kind.type_name}"), kind.type_name)
    except DecodeError as error:
        fault = conversion_fault(schema, config, f"@{kind.type_name}") or str(error)
        proper = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        text = f"failed to convert new object ({where}) to proper version: unable to convert unstructured object to"
        raise ApiError(500, "", f"{text} {proper}: {fault}") from error


def checked_config(
    schema: Schema, kind: Kind, patch: PatchBody, name: str, validation: str, warnings: list[str]
) -> Document:
    """The configuration that a patch applies, without kind and apiVersion."""
    config: Document = patch.body.value
    version = config.get("apiVersion") or ""
    group, _, own = str(version).rpartition("/")
    if (group, config.get("kind")) != (kind.group, kind.kind) or not own:
        raise bad_request(f"invalid object type: {group}/{own}, Kind={config.get('kind') or ''}")
    if version != kind.group_version:
        raise bad_request(
            f"Incorrect version specified in apply patch. Specified patch version: {version}, "
            f"expected: {kind.group_version}"
        )
    given = config.get("metadata") or {}
    metadata = given if isinstance(given, dict) else {}
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    problems = list(patch.body.duplicates)
    if problems and validation == "Strict":
        raise bad_request(f"error strict decoding patch: {', '.join(problems)}")
    if validation == "Warn":
        warnings += problems
    named = (found if isinstance(found := metadata.get(part), str) else "" for part in ("namespace", "name"))
    where = f"{'/'.join(named)}; {kind.group}/{kind.version}, Kind={kind.kind}"
    if not kind.type_name:
        cleaned = dict(config)
    else:
        walker = FieldWalker(schema)
        cleaned, unknown = _read_config(schema, walker, kind, config, where)
        if (unknown or kind.is_custom) and (faults := config_faults(schema, walker, config, kind.type_name)):
            raise _untyped(where, faults)
        faults = walker.repeated(cleaned, kind.type_name)
        if faults:
            raise _untyped(where, faults)
        if not kind.is_custom:
            cleaned = with_zeros(walker, kind.type_name, cleaned, config)
    out = {member: value for member, value in cleaned.items() if member not in ("kind", "apiVersion")}
    out["metadata"] = {**out.get("metadata", {}), "name": metadata.get("name", name)}
    return out
