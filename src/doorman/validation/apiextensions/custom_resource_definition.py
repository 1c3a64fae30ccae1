"""CustomResourceDefinitions: what is filled in, and what must hold before a kind of somebody's own is served."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.schema import Document
from doorman.api.machinery.structural_schema import compile_schema
from doorman.base.bounds import SCHEMA_DEPTH_MAX
from doorman.base.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from doorman.semantics.name_syntax import dns_1035_faults, subdomain_faults
from doorman.validation.apiextensions.custom_rule_checks import rule_check_errors
from doorman.validation.apiextensions.custom_rule_costs import rule_cost_errors
from doorman.validation.apiextensions.structural import pattern_fault
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update

Json = Any  # any JSON value
APPROVED: Final = "api-approved.kubernetes.io"
_SCOPES: Final = ("Cluster", "Namespaced")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_NO_TYPE_INSIDE: Final = ("allOf", "anyOf", "oneOf", "not")


def default_definition(doc: Document) -> None:
    spec = doc.get("spec")
    if not spec:
        return
    names = spec.get("names")
    if names and names.get("kind"):
        if not names.get("singular"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind"):
            names["listKind"] = names["kind"] + "List"
    spec.setdefault("conversion", {"strategy": "None"})


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc, lambda name: _name_faults(name, doc)), *_spec_errors(doc)]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "status":
        return errors
    errors += [*validate_metadata(new, lambda name: _name_faults(name, new)), *_spec_errors(new, old)]
    errors += _stored_version_errors(new)
    if _is_established(old):
        after, before = new.get("spec", {}), old.get("spec", {})
        for path in ("group", "scope", "names.kind", "names.plural"):
            found = _at(after, path)
            if found != _at(before, path):
                errors.append(invalid(f"spec.{path}", found, IMMUTABLE))
    return distinct(errors)


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
    errors = _group_errors(spec.get("group", ""), doc["metadata"].get("annotations", {}))
    errors += _name_errors(spec.get("names", {}))
    scope = spec.get("scope", "")
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in _SCOPES:
        errors.append(not_supported("spec.scope", scope, _SCOPES))
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        errors.append(invalid("spec.versions", versions, "must have exactly one version marked as storage version"))
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        errors.append(invalid("spec.versions", versions, "must contain unique version names"))
    if versions and not any(version.get("served") for version in versions):
        errors.append(invalid("spec.versions", versions, "must have at least one served version"))
    for index, version in enumerate(versions):
        same = stored.get(version.get("name", "")) == version.get("schema", {}).get("openAPIV3Schema")
        errors += _version_errors(version, f"spec.versions[{index}]", is_same_schema=same)
    if spec.get("preserveUnknownFields"):
        errors.append(
            invalid("spec.preserveUnknownFields", True, "must be false in order to use defaults in the schema")
        )
    return [*errors, *_conversion_errors(spec.get("conversion") or {})]


def _schemas(doc: Document) -> dict[str, Json]:
    """By version."""
    versions = doc.get("spec", {}).get("versions") or ()
    return {version.get("name", ""): version.get("schema", {}).get("openAPIV3Schema") for version in versions}


def _conversion_errors(conversion: Mapping[str, Json]) -> list[FieldError]:
    strategy = conversion.get("strategy", "")
    if strategy not in ("None", "Webhook"):
        return [not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))]
    webhook = conversion.get("webhook") or {}
    at = "spec.conversion.webhookClientConfig"
    if strategy == "None":
        if webhook.get("clientConfig"):
            return [forbidden(at, "should not be set when strategy is not set to Webhook")]
        return []
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


def _group_errors(group: str, annotations: Mapping[str, str]) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    errors = [invalid("spec.group", group, fault) for fault in subdomain_faults(group)]
    if not errors and "." not in group:
        errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if group.endswith((".k8s.io", ".kubernetes.io")) and not annotations.get(APPROVED):
        detail = (
            f'protected groups must have approval annotation "{APPROVED}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        errors.append(required(f"metadata.annotations[{APPROVED}]", detail))
    return errors


def _name_errors(names: Mapping[str, Json]) -> list[FieldError]:
    errors: list[FieldError] = []
    for member in ("plural", "singular", "kind", "listKind"):
        value = names.get(member, "")
        if not value:
            errors.append(required(f"spec.names.{member}"))
            continue
        checked = value if member in ("plural", "singular") else value.lower()
        faults = dns_1035_faults(checked)
        shown = (
            "may have mixed case, but should otherwise match: " if checked != value or member.endswith("ind") else ""
        )
        errors += [invalid(f"spec.names.{member}", value, shown + fault) for fault in faults]
    for member in ("shortNames", "categories"):
        for index, value in enumerate(names.get(member, ())):
            errors += [invalid(f"spec.names.{member}[{index}]", value, fault) for fault in dns_1035_faults(value)]
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors


def _version_errors(version: Mapping[str, Json], path: str, *, is_same_schema: bool) -> list[FieldError]:
    errors = [invalid(f"{path}.name", version.get("name", ""), f) for f in dns_1035_faults(version.get("name", ""))]
    if version.get("deprecationWarning") and not version.get("deprecated"):
        errors.append(
            invalid(
                f"{path}.deprecationWarning",
                version["deprecationWarning"],
                "can only be set for deprecated versions",
            )
        )
    schema = version.get("schema", {}).get("openAPIV3Schema")
    if schema is None:
        errors.append(required(f"{path}.schema.openAPIV3Schema", "schemas are required"))
    else:
        errors += _root_errors(schema, f"{path}.schema.openAPIV3Schema", is_same=is_same_schema)
    for index, column in enumerate(version.get("additionalPrinterColumns", ())):
        errors += _column_errors(column, f"{path}.additionalPrinterColumns[{index}]")
    scale = version.get("subresources", {}).get("scale")
    if scale is not None:
        errors += _scale_errors(scale, f"{path}.subresources.scale")
    for index, field in enumerate(version.get("selectableFields", ())):
        if not field.get("jsonPath"):
            errors.append(required(f"{path}.selectableFields[{index}].jsonPath"))
    return errors


def _column_errors(column: Mapping[str, Json], path: str) -> list[FieldError]:
    errors = [required(f"{path}.{member}") for member in ("name", "type", "jsonPath") if not column.get(member)]
    if column.get("type") and column["type"] not in _COLUMN_TYPES:
        listed = ",".join(sorted(_COLUMN_TYPES))
        errors.append(invalid(f"{path}.type", column["type"], f"must be one of {listed}"))
    if column.get("jsonPath") and not column["jsonPath"].startswith("."):
        errors.append(invalid(f"{path}.jsonPath", column["jsonPath"], "must be a simple json path starting with ."))
    return errors


def _scale_errors(scale: Mapping[str, Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for member, head, is_needed in (
        ("specReplicasPath", (".spec.",), True),
        ("statusReplicasPath", (".status.",), True),
        ("labelSelectorPath", (".spec.", ".status."), False),
    ):
        value = scale.get(member, "")
        if not value:
            if is_needed:
                errors.append(required(f"{path}.{member}"))
        elif not value.startswith(head):
            listed = " or ".join(head)
            errors.append(invalid(f"{path}.{member}", value, f"should be a json path under {listed.rstrip('.')}"))
    return errors


def _stored_version_errors(doc: Document) -> list[FieldError]:
    served = {version.get("name", "") for version in doc.get("spec", {}).get("versions") or ()}
    errors = []
    for index, stored in enumerate(doc.get("status", {}).get("storedVersions") or ()):
        if stored not in served:
            detail = (
                f"missing from spec.versions; {stored} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {stored} and removes "
                f"{stored} from status.storedVersions"
            )
            errors.append(invalid(f"status.storedVersions[{index}]", stored, detail))
    return errors


# Schemas


def _root_errors(schema: Mapping[str, Json], path: str, *, is_same: bool) -> list[FieldError]:
    found = schema.get("type", "")
    if not found:
        return [required(f"{path}.type", "must not be empty at the root")]
    if found != "object":
        return [invalid(f"{path}.type", found, "must be object at the root")]
    errors: list[FieldError] = []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    _schema_errors(schema, path, errors, depth=0)
    if not errors:
        structural = compile_schema(dict(schema))
        errors += rule_check_errors(structural, path)
        errors += rule_cost_errors(structural, path, is_unchanged=is_same)
    return errors


def _schema_errors(schema: Mapping[str, Json], path: str, errors: list[FieldError], *, depth: int) -> None:
    if depth > SCHEMA_DEPTH_MAX:
        errors.append(forbidden(path, f"a schema may be nested {SCHEMA_DEPTH_MAX} deep"))
        return
    _own_errors(schema, path, errors)
    parts = [(f"{path}.properties[{name}]", part) for name, part in schema.get("properties", {}).items()]
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, dict):
        parts.append((f"{path}.additionalProperties", additional))
    if isinstance(items, dict):
        parts.append((f"{path}.items", items))
    elif items is not None:
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    for place, part in parts:
        if not isinstance(part, dict):
            errors.append(invalid(place, part, "must be a schema"))
            continue
        if not part.get("type") and not _may_lack_type(part):
            what = "array items" if place.endswith(".items") else "object fields"
            errors.append(required(f"{place}.type", f"must not be empty for specified {what}"))
        _schema_errors(part, place, errors, depth=depth + 1)


def _may_lack_type(schema: Mapping[str, Json]) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields"))


def _own_errors(schema: Mapping[str, Json], path: str, errors: list[FieldError]) -> None:
    found = schema.get("type", "")
    if found and found not in _TYPES:
        errors.append(not_supported(f"{path}.type", found, _TYPES))
    if schema.get("$ref"):
        errors.append(forbidden(f"{path}.$ref", "$ref is not supported"))
    if schema.get("uniqueItems"):
        errors.append(
            forbidden(
                f"{path}.uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            )
        )
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        errors.append(
            forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
        )
    if found == "array" and schema.get("items") is None:
        errors.append(required(f"{path}.items", "must be specified"))
    pattern = schema.get("pattern")
    if pattern and pattern_fault(pattern):
        errors.append(invalid(f"{path}.pattern", pattern, "must be a valid regular expression"))
    if schema.get("x-kubernetes-list-type") == "map":
        keys = schema.get("x-kubernetes-list-map-keys", [])
        if not keys:
            errors.append(
                required(f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
            )
        if len(set(keys)) != len(keys):
            errors.append(duplicate(f"{path}.x-kubernetes-list-map-keys", keys))
    for member in _NO_TYPE_INSIDE:
        parts = schema.get(member, [])
        for index, part in enumerate(parts if isinstance(parts, list) else (parts,)):
            if part.get("type") and not schema.get("x-kubernetes-int-or-string"):
                place = f"{path}.{member}[{index}]" if isinstance(parts, list) else f"{path}.{member}"
                errors.append(forbidden(f"{place}.type", "must be empty to be structural"))
