"""Paths and names with a domain in front: `example.com/controller`, and paths of files in volumes."""

import re
from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.semantics.names import subdomain_faults
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


def local_path_errors(text: str, path: str) -> list[FieldError]:
    """A path inside something else: relative, and it stays inside."""
    if text.startswith("/"):
        return [invalid(path, text, "must be a relative path")]
    return backstep_errors(text, path)


def backstep_errors(text: str, path: str) -> list[FieldError]:
    if ".." in text.split("/"):
        return [invalid(path, text, "must not contain '..'")]
    return []


def local_descending_errors(text: str, path: str) -> list[FieldError]:
    """A relative path whose first part is no hidden sign of the kubelet's own either."""
    errors = local_path_errors(text, path)
    if not errors and text.startswith(".."):
        errors.append(invalid(path, text, "must not start with '..'"))
    return errors
