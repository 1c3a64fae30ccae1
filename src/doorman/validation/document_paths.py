"""Paths, and names with a domain in front: `example.com/controller`."""

import re
from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.semantics.name_syntax import qualified_name_faults, subdomain_faults
from doorman.validation.faults import badly

_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_HTTP_PATH_RE: Final = re.compile(_HTTP_PATH)


def domain_path_errors(text: str, path: str) -> list[FieldError]:
    """`acme.io/foo`: a subdomain, a slash and what may stand in a URL."""
    if not text:
        return [required(path)]
    host, slash, rest = text.partition("/")
    if not slash or not host or not rest:
        return [invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = badly(path, host, subdomain_faults(host))
    if _HTTP_PATH_RE.fullmatch(rest) is None:
        errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')"))
    return errors


def domain_key_errors(text: str, path: str) -> list[FieldError]:
    """`acme.io/foo`: a label key that has a prefix."""
    if not text:
        return [required(path)]
    errors = badly(path, text, qualified_name_faults(text))
    if not errors and "/" not in text:
        errors.append(invalid(path, text, 'must be a domain-prefixed key (such as "acme.io/foo")'))
    return errors


def descending_path_errors(text: str, path: str) -> list[FieldError]:
    """A path inside something: relative, and it stays inside."""
    errors = [invalid(path, text, "must be a relative path")] if text.startswith("/") else []
    return [*errors, *backstep_errors(text, path)]


def backstep_errors(text: str, path: str) -> list[FieldError]:
    return [invalid(path, text, "must not contain '..'")] if ".." in text.split("/") else []


def local_path_errors(text: str, path: str) -> list[FieldError]:
    """The same, and it does not begin like the kubelet's own files."""
    errors = descending_path_errors(text, path)
    if text.startswith("..") and not text.startswith("../"):
        errors.append(invalid(path, text, "must not start with '..'"))
    return errors
