"""`x-kubernetes-list-type`, `-list-map-keys` and `-map-type` of a definition's schema: how both are merged."""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.base.json_types import Json

JsonSchema = Mapping[str, Json]

LIST_TYPE: Final = "x-kubernetes-list-type"
MAP_KEYS: Final = "x-kubernetes-list-map-keys"
MAP_TYPE: Final = "x-kubernetes-map-type"


def list_extension_errors(schema: JsonSchema, path: str) -> list[FieldError]:
    kind, keys = schema.get(LIST_TYPE), schema.get(MAP_KEYS) or ()
    errors = _type_errors(schema, path)
    if keys and kind is None:
        errors.append(required(f"{path}.{LIST_TYPE}", f"must be map if {MAP_KEYS} is non-empty"))
    elif keys and kind != "map":
        errors.append(invalid(f"{path}.{LIST_TYPE}", kind, f"must be map if {MAP_KEYS} is non-empty"))
    if kind == "map":
        errors += _map_errors(schema, keys, path)
    items = schema.get("items")
    if kind in ("map", "set") and isinstance(items, dict):
        errors += _item_errors(items, kind, keys, f"{path}.items")
    return errors


def _type_errors(schema: JsonSchema, path: str) -> list[FieldError]:
    found, kind, map_type, items = (schema.get(name) for name in ("type", LIST_TYPE, MAP_TYPE, "items"))
    errors = _needed_type(found, "object", MAP_TYPE, path) if map_type is not None else []
    if map_type is not None and map_type not in ("atomic", "granular"):
        errors.append(not_supported(f"{path}.{MAP_TYPE}", map_type, ("atomic", "granular")))
    if kind is not None and found != "array":
        errors += _needed_type(found, "array", LIST_TYPE, path)
    elif kind == "set" and isinstance(items, dict):
        errors += _set_errors(items, f"{path}.items")
    if kind is not None and kind not in ("atomic", "set", "map"):
        errors.append(not_supported(f"{path}.{LIST_TYPE}", kind, ("atomic", "set", "map")))
    return errors


def _needed_type(found: Json, wanted: str, extension: str, path: str) -> list[FieldError]:
    text = f"must be {wanted} if {extension} is specified"
    if found == wanted:
        return []
    return [invalid(f"{path}.type", found, text) if found else required(f"{path}.type", text)]


def _set_errors(items: JsonSchema, path: str) -> list[FieldError]:
    """Elements of a set are compared whole."""
    text = f"must be atomic as item of a list with {LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        return [invalid(f"{path}.{LIST_TYPE}", items[LIST_TYPE], text)]
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        return [invalid(f"{path}.{MAP_TYPE}", items.get(LIST_TYPE), text)]
    return []


def _map_errors(schema: JsonSchema, keys: Sequence[str], path: str) -> list[FieldError]:
    items = schema.get("items")
    errors = [] if keys else [required(f"{path}.{MAP_KEYS}", f"must not be empty if {LIST_TYPE} is map")]
    if items is None:
        errors.append(required(f"{path}.items", f"must have a schema if {LIST_TYPE} is map"))
        return errors
    if not isinstance(items, dict):
        return [*errors, invalid(f"{path}.items", items, f"must only have a single schema if {LIST_TYPE} is map")]
    kind = items.get("type") or ""
    if kind != "object":
        text = f"must be object if parent array's {LIST_TYPE} is map"
        return [*errors, invalid(f"{path}.items.type", kind, text)]
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            errors.append(invalid(f"{path}.{MAP_KEYS}", list(keys), "entries must all be names of item properties"))
        elif properties[key].get("type") in ("array", "object"):
            text = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            errors.append(invalid(f"{path}.items.properties[{key}].type", kind, text))
        if key in keys[:index]:
            errors.append(invalid(f"{path}.{MAP_KEYS}", list(keys), "must not contain duplicate entries"))
    return errors


def _item_errors(items: JsonSchema, kind: str, keys: Sequence[str], path: str) -> list[FieldError]:
    """Elements are there, and have their keys."""
    errors = []
    if items.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", f"cannot be nullable when {LIST_TYPE} is {kind}"))
    properties = items.get("properties") or {}
    this = f"this property is in {MAP_KEYS}, so it"
    for key in keys if kind == "map" else ():
        part = properties.get(key)
        if part is None:
            continue
        if key not in (items.get("required") or ()) and part.get("default") is None:
            text = f"{this} must have a default or be a required property"
            errors.append(required(f"{path}.properties[{key}].default", text))
        if part.get("nullable"):
            errors.append(forbidden(f"{path}.properties[{key}].nullable", f"{this} cannot be nullable"))
    return errors
