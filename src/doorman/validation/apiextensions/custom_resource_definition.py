"""CustomResourceDefinitions: what is filled in, and what must hold before a kind of somebody's own is served."""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.base.errors import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from doorman.base.json_types import Document, Json
from doorman.semantics.name_syntax import dns_1035_faults, subdomain_faults
from doorman.validation.apiextensions.custom_rules import path_steps
from doorman.validation.apiextensions.definition_schema import definition_schema_errors
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update

APPROVED: Final = "api-approved.kubernetes.io"
_SCOPES: Final = ("Cluster", "Namespaced")
_ONE_STORED: Final = "must have exactly one version marked as storage version"
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_WARNING_BYTES_MAX: Final = 256
_SELECTABLE_MAX: Final = 8
_SIMPLE_PATH: Final = "must be a simple json path starting with ."
_NOT_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def default_definition(doc: Document) -> None:
    spec = doc.setdefault("spec", {})
    names = spec.get("names")
    if names and names.get("kind"):
        if not names.get("singular"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind"):
            names["listKind"] = names["kind"] + "List"
    spec.setdefault("conversion", {"strategy": "None"})
    status = doc.get("status") or {}
    if not status.get("storedVersions"):
        stored = [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]
        if stored:
            doc["status"] = {**status, "storedVersions": stored[:1]}


def _create(doc: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(doc, lambda name: _name_faults(name, doc)), *_spec_errors(doc)]
    return [*errors, *_stored_version_errors(doc), *_approval_errors(doc), *_pruning_errors(doc, {})]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "status":
        return errors
    errors += [*_spec_errors(new, old), *_stored_version_errors(new), *_approval_errors(new)]
    errors += _pruning_errors(new, old)
    if _is_established(old):
        after, before = new.get("spec", {}), old.get("spec", {})
        for path in ("group", "scope", "names.kind", "names.plural"):
            found = _at(after, path)
            if found != _at(before, path):
                errors.append(invalid(f"spec.{path}", found, IMMUTABLE))
    return distinct(errors)


_SHAREABLE: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")

DEFINITION: Final = Validator(create=_create, update=_update)


def _at(value: Mapping[str, Json], path: str) -> Json:
    head, _, rest = path.partition(".")
    found = value.get(head, "")
    return _at(found, rest) if rest and isinstance(found, dict) else found


def _is_established(doc: Document) -> bool:
    conditions = doc.get("status", {}).get("conditions") or ()
    return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)


def _name_faults(name: str, doc: Document) -> Sequence[str]:
    spec = doc.get("spec", {})
    wanted = f"{spec.get('names', {}).get('plural', '')}.{spec.get('group', '')}"
    faults = list(subdomain_faults(name))
    return faults if name == wanted else [*faults, 'must be spec.names.plural+"."+spec.group']


def _spec_errors(doc: Document, old: Document | None = None) -> list[FieldError]:
    spec = doc.get("spec", {})
    stored = _schemas(old) if old is not None else {}
    errors = _group_errors(spec.get("group", ""))
    scope = spec.get("scope", "")
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in _SCOPES:
        errors.append(not_supported("spec.scope", scope, _SCOPES))
    versions = spec.get("versions") or []
    shared = _shared(versions)
    for index, version in enumerate(versions):
        if version.get("schema", {}).get("openAPIV3Schema") is None:
            errors.append(required(f"spec.versions[{index}].schema.openAPIV3Schema"))
    if spec.get("preserveUnknownFields") and any(_has_default(schema) for schema in _schemas(doc).values()):
        text = "must be false in order to use defaults in the schema"
        errors.append(invalid("spec.preserveUnknownFields", True, text))
    for index, version in enumerate(versions):
        errors += _version_errors(version, f"spec.versions[{index}]", stored, shared)
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        errors.append(invalid("spec.versions", versions, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        errors.append(invalid("spec.versions", spec.get("versions"), _ONE_STORED))
    if names and names[0] and (faults := dns_1035_faults(names[0])):
        # The first version is also the one that definitions had before there were several.
        errors.append(invalid("spec.version", names[0], ",".join(faults)))
    errors += _name_errors(spec.get("names") or {})
    errors += _shared_errors(shared, names[0] if names else "", stored, versions)
    return [*errors, *_conversion_errors(spec.get("conversion") or {})]


def _schemas(doc: Document) -> dict[str, Json]:
    """By version."""
    versions = doc.get("spec", {}).get("versions") or ()
    return {version.get("name", ""): version.get("schema", {}).get("openAPIV3Schema") for version in versions}


def _pruning_errors(doc: Document, old: Document) -> list[FieldError]:
    if not doc.get("spec", {}).get("preserveUnknownFields") or old.get("spec", {}).get("preserveUnknownFields"):
        return []
    text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [invalid("spec.preserveUnknownFields", True, text)]


def _has_default(schema: Json) -> bool:
    if isinstance(schema, list):
        return any(map(_has_default, schema))
    if not isinstance(schema, dict):
        return False
    inner = [schema.get(member) for member in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "not")]
    inner += (schema.get("properties") or {}).values()
    return schema.get("default") is not None or any(map(_has_default, inner))


def _approval_errors(doc: Document) -> list[FieldError]:
    group, annotations = doc.get("spec", {}).get("group", ""), doc["metadata"].get("annotations", {})
    if not group.endswith((".k8s.io", ".kubernetes.io")) or annotations.get(APPROVED):
        return []
    detail = (
        f'protected groups must have approval annotation "{APPROVED}", '
        "see https://github.com/kubernetes/enhancements/pull/1111"
    )
    return [required(f"metadata.annotations[{APPROVED}]", detail)]


def _conversion_errors(conversion: Mapping[str, Json]) -> list[FieldError]:
    strategy = conversion.get("strategy", "")
    if not strategy:
        return [required("spec.conversion.strategy")]
    if strategy not in ("None", "Webhook"):
        return [not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))]
    webhook = conversion.get("webhook") or {}
    at = "spec.conversion.webhookClientConfig"
    if strategy == "None":
        text = "should not be set when strategy is not set to Webhook"
        given = (("clientConfig", at), ("conversionReviewVersions", "spec.conversion.conversionReviewVersions"))
        return [forbidden(path, text) for name, path in given if webhook.get(name)]
    errors: list[FieldError] = []
    client = webhook.get("clientConfig")
    if not client:
        errors.append(required(at, "required when strategy is set to Webhook"))
    elif bool(client.get("url")) is bool(client.get("service")):
        errors.append(required(at, "exactly one of url or service is required"))
    versions = webhook.get("conversionReviewVersions") or []
    if not versions:
        errors.append(required("spec.conversion.conversionReviewVersions"))
    elif not {"v1", "v1beta1"} & set(versions):
        errors.append(
            invalid("spec.conversion.conversionReviewVersions", versions, "must include at least one of v1, v1beta1")
        )
    return errors


def _group_errors(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    if faults := subdomain_faults(group):
        return [invalid("spec.group", group, ",".join(faults))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _name_errors(names: Mapping[str, Json]) -> list[FieldError]:
    needed = ("plural", "singular", "kind", "listKind")
    errors = [required(f"spec.names.{member}") for member in needed if not names.get(member)]
    for member in needed:
        value = names.get(member) or ""
        is_kind = member in ("kind", "listKind")
        faults = dns_1035_faults(value.lower() if is_kind else value) if value else ()
        head = "may have mixed case, but should otherwise match: " if is_kind else ""
        errors += [invalid(f"spec.names.{member}", value, head + ",".join(faults))] if faults else []
    errors += _label_errors(names, "shortNames")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    return [*errors, *_label_errors(names, "categories")]


def _label_errors(names: Mapping[str, Json], member: str) -> list[FieldError]:
    return [
        invalid(f"spec.names.{member}[{index}]", value, ",".join(faults))
        for index, value in enumerate(names.get(member) or ())
        if (faults := dns_1035_faults(value))
    ]


def _shared(versions: Sequence[Mapping[str, Json]]) -> Mapping[str, Json]:
    """What all versions say alike. It is looked at once, and named as if it had been said of the whole definition."""
    if not versions:
        return {}
    first = versions[0]
    alike = [name for name in _SHAREABLE if all(one.get(name) == first.get(name) for one in versions)]
    return {name: first[name] for name in alike if first.get(name) is not None}


def _version_errors(
    version: Mapping[str, Json], path: str, stored: Mapping[str, Json], shared: Mapping[str, Json]
) -> list[FieldError]:
    name = version.get("name", "")
    faults = dns_1035_faults(name)
    errors = [invalid(f"{path}.name", name, ",".join(faults))] if faults else []
    errors += [
        invalid(f"{path}.deprecationWarning", version.get("deprecationWarning"), fault)
        for fault in _warning_faults(version)
    ]
    own = {member: value for member, value in version.items() if member not in shared}
    paths = {"schema": f"{path}.schema", **{member: f"{path}.{member}" for member in _SHAREABLE[1:]}}
    text = "may only be set when `version.schema.openAPIV3Schema` is not included"
    is_unchanged = name in stored and stored[name] == (own.get("schema") or {}).get("openAPIV3Schema")
    return [*errors, *_said_errors(own, paths, text, has_status=_has_status(version), is_unchanged=is_unchanged)]


def _shared_errors(
    shared: Mapping[str, Json], first: str, stored: Mapping[str, Json], versions: Sequence[Mapping[str, Json]]
) -> list[FieldError]:
    paths = {"schema": "spec.validation", **{member: f"spec.{member}" for member in _SHAREABLE[1:]}}
    is_unchanged = first in stored and stored[first] == (shared.get("schema") or {}).get("openAPIV3Schema")
    has_status = any(_has_status(version) for version in versions)
    text = "may only be set when validations.schema is included"
    return _said_errors(shared, paths, text, has_status=has_status, is_unchanged=is_unchanged)


def _has_status(version: Mapping[str, Json]) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _said_errors(
    said: Mapping[str, Json], paths: Mapping[str, str], without_schema: str, *, has_status: bool, is_unchanged: bool
) -> list[FieldError]:
    """Of what a version says, or all versions alike: schema, subresources, columns, selectable fields."""
    errors: list[FieldError] = []
    schema = (said.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        at = f"{paths['schema']}.openAPIV3Schema"
        errors += definition_schema_errors(schema, at, has_status=has_status, is_unchanged=is_unchanged)
    scale = (said.get("subresources") or {}).get("scale")
    if scale is not None:
        errors += _scale_errors(scale, f"{paths['subresources']}.scale")
    for index, column in enumerate(said.get("additionalPrinterColumns") or ()):
        errors += _column_errors(column, f"{paths['additionalPrinterColumns']}[{index}]")
    fields = said.get("selectableFields") or ()
    return [*errors, *_selectable_errors(fields, schema, paths["selectableFields"], without_schema)]


def _warning_faults(version: Mapping[str, Json]) -> list[str]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return ["can only be set for deprecated versions"]
    faults = [] if len(warning.encode()) <= _WARNING_BYTES_MAX else [f"must be <= {_WARNING_BYTES_MAX} characters long"]
    faults += [] if warning else ["must not be an empty string"]
    for index, character in enumerate(warning):
        if not character.isprintable():
            at = len(warning[:index].encode())
            faults.append(f"must only contain printable UTF-8 characters; non-printable character found at index {at}")
            break
    return faults


def _selectable_errors(
    fields: Sequence[Mapping[str, Json]], schema: Json, path: str, without_schema: str
) -> list[FieldError]:
    if fields and schema is None:
        return [invalid(path, "", without_schema)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        at, text = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not text:
            errors.append(required(at))
            continue
        try:
            steps = path_steps(text)
            found = _schema_at(schema, steps)
        except ValueError as error:
            errors.append(invalid(at, text, f"is an invalid path: {error}"))
            continue
        if steps[0] == "metadata":
            errors.append(invalid(at, text, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            errors.append(invalid(at, text, _NOT_SELECTABLE))
        if ".".join(steps) in seen:
            errors.append(duplicate(at, text))
        seen.add(".".join(steps))
    if len(seen) > _SELECTABLE_MAX:
        errors.append(too_many(path, len(seen), _SELECTABLE_MAX))
    return errors


def _schema_at(schema: Mapping[str, Json], steps: Sequence[str]) -> Mapping[str, Json]:
    """Raises ValueError when there is nothing."""
    for step in steps:
        properties = schema.get("properties") or {}
        if step not in properties:
            raise ValueError("does not refer to a valid field")
        schema = properties[step]
    return schema


def _column_errors(column: Mapping[str, Json], path: str) -> list[FieldError]:
    errors = [] if column.get("name") else [required(f"{path}.name")]
    text = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("type"):
        errors.append(required(f"{path}.type", text))
    elif column["type"] not in _COLUMN_TYPES:
        errors.append(invalid(f"{path}.type", column["type"], text))
    form = column.get("format")
    if form and form not in _COLUMN_FORMATS:
        errors.append(invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not column.get("jsonPath"):
        errors.append(required(f"{path}.JSONPath"))
    elif not column["jsonPath"].startswith("."):
        errors.append(invalid(f"{path}.JSONPath", column["jsonPath"], _SIMPLE_PATH))
    return errors


def _scale_errors(scale: Mapping[str, Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for member, head, words, is_needed in (
        ("specReplicasPath", (".spec.",), ".spec", True),
        ("statusReplicasPath", (".status.",), ".status", True),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status", False),
    ):
        value = scale.get(member) or ""
        if not value:
            errors += [required(f"{path}.{member}")] if is_needed else []
        elif not value.startswith("."):
            errors.append(invalid(f"{path}.{member}", value, _SIMPLE_PATH))
        elif not value.startswith(head):
            errors.append(invalid(f"{path}.{member}", value, f"should be a json path under {words}"))
    return errors


def _stored_version_errors(doc: Document) -> list[FieldError]:
    versions = doc.get("spec", {}).get("versions") or ()
    found = doc.get("status", {}).get("storedVersions") or []
    if not found:
        return [invalid("status.storedVersions", None, "must have at least one stored version")]
    errors = []
    missing = dict.fromkeys(found)
    for version in versions:
        name = version.get("name", "")
        if version.get("storage") and name not in missing:
            errors.append(invalid("status.storedVersions", found, f"must have the storage version {name}"))
        missing.pop(name, None)  # a second version of this name is not found
    for index, stored in enumerate(found):
        if stored in missing:
            detail = (
                f"missing from spec.versions; {stored} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {stored} and removes "
                f"{stored} from status.storedVersions"
            )
            errors.append(invalid(f"status.storedVersions[{index}]", stored, detail))
    return errors
