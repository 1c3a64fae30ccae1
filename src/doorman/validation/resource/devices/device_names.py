"""The names of drivers, pools, devices, requests, attributes and capacities."""

import re
from typing import Final
from uuid import UUID

from doorman.base.errors import FieldError, invalid, required, too_long
from doorman.semantics.name_syntax import dns_label_faults, label_value_faults, qualified_name_faults, subdomain_faults

DRIVER_NAME_BYTES_MAX: Final = 63
POOL_NAME_BYTES_MAX: Final = 253
DOMAIN_BYTES_MAX: Final = 63
IDENTIFIER_BYTES_MAX: Final = 32
QUALIFIED_NAME_CHARS_MAX: Final = DOMAIN_BYTES_MAX + 1 + IDENTIFIER_BYTES_MAX

_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_RE: Final = re.compile(_IDENTIFIER, re.ASCII)
IDENTIFIER_FAULT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)
NOT_FULLY_QUALIFIED: Final = "a fully qualified name must be a domain and a name separated by a slash"
UID_FORM: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)
_UID_RE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def driver_errors(driver: str, path: str) -> list[FieldError]:
    """A DNS subdomain; capitals are taken for small letters."""
    if not driver:
        return [required(path)]
    errors = [too_long(path, DRIVER_NAME_BYTES_MAX)] if _bytes(driver) > DRIVER_NAME_BYTES_MAX else []
    return [*errors, *(invalid(path, driver, fault) for fault in subdomain_faults(driver.lower()))]


def pool_name_errors(pool: str, path: str) -> list[FieldError]:
    """DNS subdomains separated by slashes."""
    if not pool:
        return [required(path)]
    errors = [too_long(path, POOL_NAME_BYTES_MAX)] if _bytes(pool) > POOL_NAME_BYTES_MAX else []
    return [*errors, *(invalid(path, part, fault) for part in pool.split("/") for fault in subdomain_faults(part))]


def dns_label_errors(name: str, path: str) -> list[FieldError]:
    """Of a device, a request, a counter. An empty one is badly formed, not missing."""
    return [invalid(path, name, fault) for fault in dns_label_faults(name)]


def class_name_errors(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, fault) for fault in subdomain_faults(name)] if name else [required(path)]


def node_name_errors(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, fault) for fault in subdomain_faults(name)]


def label_key_errors(key: str, path: str) -> list[FieldError]:
    return [invalid(path, key, fault) for fault in qualified_name_faults(key)]


def label_value_errors(value: str, path: str) -> list[FieldError]:
    return [invalid(path, value, fault) for fault in label_value_faults(value)]


def identifier_errors(name: str, path: str) -> list[FieldError]:
    errors = [too_long(path, IDENTIFIER_BYTES_MAX)] if _bytes(name) > IDENTIFIER_BYTES_MAX else []
    return errors if _IDENTIFIER_RE.fullmatch(name) else [*errors, invalid(path, name, IDENTIFIER_FAULT)]


def qualified_name_errors(name: str, path: str) -> list[FieldError]:
    """`model` or `example.com/model`. More than one slash is let through, as upstream does."""
    parts = name.split("/")
    if len(parts) == 1:
        return identifier_errors(name, path)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    errors = driver_errors(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    if not identifier:
        return [*errors, invalid(path, "", "the name must not be empty")]
    return [*errors, *identifier_errors(identifier, path)]


def fully_qualified_name_errors(name: str, path: str) -> list[FieldError]:
    errors = qualified_name_errors(name, path)
    return errors if "/" in name else [*errors, invalid(path, name, NOT_FULLY_QUALIFIED)]


def uid_errors(uid: str, path: str) -> list[FieldError]:
    if _UID_RE.fullmatch(uid):
        return []
    return [invalid(path, uid, UID_FORM if _is_uuid(uid) else "error validating uid: invalid UUID format")]


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _bytes(text: str) -> int:
    return len(text.encode())
