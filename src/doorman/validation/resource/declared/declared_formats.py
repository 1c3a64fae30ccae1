"""Formats by which upstream's types declare their members, in words of their own."""

import re
from collections.abc import Callable
from typing import Any, Final

from doorman.base.errors import FieldError, FieldErrorType, JsonText, invalid, not_supported, too_long
from doorman.semantics.name_syntax import (
    DNS_LABEL_FAULT,
    LABEL_BYTES_MAX,
    SUBDOMAIN_BYTES_MAX,
    SUBDOMAIN_FAULT,
    dns_label_faults,
    qualified_name_faults,
    subdomain_faults,
)
from doorman.validation.resource.devices.device_names import DOMAIN_BYTES_MAX, NOT_FULLY_QUALIFIED, identifier_errors

FormatCheck = Callable[[Any, str], list[FieldError]]
"""From a value that is there and its place to what is wrong with it."""

_UUID_FORM: Final = "must be a lowercase UUID in 8-4-4-4-12 format"
_UID_RE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_CASELESS_FAULT: Final = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'Example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_QUOTA_PREFIX: Final = "requests."
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def short_name(name: str, path: str) -> list[FieldError]:
    """A DNS label."""
    faults = [_at_most(LABEL_BYTES_MAX)] if _bytes(name) > LABEL_BYTES_MAX else []
    if DNS_LABEL_FAULT in dns_label_faults(name) or "must not contain dots" in dns_label_faults(name):
        faults.append(DNS_LABEL_FAULT if SUBDOMAIN_FAULT in subdomain_faults(name) else "must not contain dots")
    return [invalid(path, name, fault) for fault in faults]


def long_name(name: str, path: str) -> list[FieldError]:
    """A DNS subdomain."""
    return [invalid(path, name, fault) for fault in _subdomain_faults(name, SUBDOMAIN_FAULT)]


def long_name_caseless(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, fault) for fault in _subdomain_faults(name.lower(), _CASELESS_FAULT)]


def label_key(key: str, path: str) -> list[FieldError]:
    return [invalid(path, key, fault) for fault in qualified_name_faults(key)]


def uuid(text: str, path: str) -> list[FieldError]:
    return [] if _UID_RE.fullmatch(text) else [invalid(path, text, _UUID_FORM)]


def pool_name(name: str, path: str) -> list[FieldError]:
    errors = [too_long(path, SUBDOMAIN_BYTES_MAX)] if _bytes(name) > SUBDOMAIN_BYTES_MAX else []
    for index, part in enumerate(name.split("/")):
        if not part:
            errors.append(invalid(path, name, f"segment {index}: must not be empty"))
            continue
        faults = _subdomain_faults(part, SUBDOMAIN_FAULT)
        errors.extend(invalid(path, part, f"segment {index}: {fault}") for fault in faults)
    return errors


def extended_resource_name(name: str, path: str) -> list[FieldError]:
    """`example.com/gpu`: it must do as the name of a quota, too."""
    errors: list[FieldError] = []
    if "/" not in name:
        errors.append(invalid(path, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'"))
    elif _NATIVE_DOMAIN in name:
        errors.append(invalid(path, name, f'must not have "{_NATIVE_DOMAIN}" domain'))
    if name.startswith(_QUOTA_PREFIX):
        errors.append(invalid(path, name, f'must not have "{_QUOTA_PREFIX}" prefix'))
    return [*errors, *(invalid(path, name, fault) for fault in qualified_name_faults(_QUOTA_PREFIX + name))]


def fully_qualified_name(name: str, path: str) -> list[FieldError]:
    """`example.com/model`. More than one slash is let through, as upstream does."""
    parts = name.split("/")
    if len(parts) == 1:
        return [*identifier_errors(name, path), invalid(path, name, NOT_FULLY_QUALIFIED)]
    if len(parts) > 2:
        return []
    domain, identifier = parts
    errors = [] if domain else [invalid(path, "", "prefix must not be empty")]
    if domain:
        errors.extend([too_long(path, DOMAIN_BYTES_MAX)] if _bytes(domain) > DOMAIN_BYTES_MAX else ())
        faults = _subdomain_faults(domain, SUBDOMAIN_FAULT)
        errors.extend(invalid(path, domain, f"prefix: {fault}") for fault in faults)
    if not identifier:
        return [*errors, invalid(path, "", "name must not be empty")]
    return [*errors, *identifier_errors(identifier, path)]


def max_length(chars_max: int) -> FormatCheck:
    def check(text: str, path: str) -> list[FieldError]:
        body = f"Too long: may not be more than {chars_max} characters"
        return [FieldError(FieldErrorType.TOO_LONG, path, body)] if len(text) > chars_max else []

    return check


def max_bytes(bytes_max: int) -> FormatCheck:
    return lambda text, path: [too_long(path, bytes_max)] if _bytes(text) > bytes_max else []


def minimum(least: int) -> FormatCheck:
    text = f"must be greater than or equal to {least}"
    return lambda value, path: [invalid(path, value, text)] if value < least else []


def maximum(most: int) -> FormatCheck:
    text = f"must be less than or equal to {most}"
    return lambda value, path: [invalid(path, value, text)] if value > most else []


def enum(*values: str) -> FormatCheck:
    return lambda value, path: [] if value in values else [not_supported(path, JsonText(value), values)]


def each_key(check: FormatCheck) -> FormatCheck:
    """Keys are told at the place of their map."""
    return lambda items, path: [error for key in sorted(items) for error in check(key, path)]


def _subdomain_faults(text: str, fault: str) -> list[str]:
    faults = [_at_most(SUBDOMAIN_BYTES_MAX)] if _bytes(text) > SUBDOMAIN_BYTES_MAX else []
    return [*faults, fault] if SUBDOMAIN_FAULT in subdomain_faults(text) else faults


def _at_most(bytes_max: int) -> str:
    return f"must be no more than {bytes_max} bytes"


def _bytes(text: str) -> int:
    return len(text.encode())
