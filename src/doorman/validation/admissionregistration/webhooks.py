"""Configurations of admission webhooks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from doorman.base.errors import FieldError, duplicate, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_1035_faults, subdomain_faults
from doorman.validation.admissionregistration.match_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    ExpressionFaults,
    as_validator,
    choice_errors,
    condition_errors,
    faults_of,
    rule_errors,
    selector_errors,
)
from doorman.validation.context import Context
from doorman.validation.metadata import validate_metadata

_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_PORT: Final = "port is not valid: must be between 1 and 65535, inclusive"
_TIMEOUT: Final = "the timeout value must be between 1 and 30 seconds"
_NAME: Final = "should be a domain with at least three segments separated by dots"


_HTTPS: Final = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
_HOST: Final = "host must be specified; desired format: https://host[/path]"


def _configuration_create(doc: Document, _context: Context) -> list[FieldError]:
    errors, faults = validate_metadata(doc), faults_of(doc)
    names: set[str] = set()
    for index, hook in enumerate(doc.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        errors.extend(_webhook_errors(hook, path, faults))
        name = hook.get("name", "")
        if name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    return errors


def _webhook_errors(hook: Mapping[str, Any], path: str, faults: ExpressionFaults) -> list[FieldError]:
    errors = _name_errors(hook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        errors.extend(rule_errors(rule, f"{path}.rules[{index}]"))
    errors.extend(choice_errors(hook, "failurePolicy", FAILURE_POLICIES, path))
    errors.extend(choice_errors(hook, "matchPolicy", MATCH_POLICIES, path))
    errors.extend(choice_errors(hook, "reinvocationPolicy", REINVOCATION_POLICIES, path))
    if hook.get("sideEffects") is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}"))
    errors.extend(choice_errors(hook, "sideEffects", _SIDE_EFFECTS, path))
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, _TIMEOUT))
    errors.extend(selector_errors(hook, path))
    errors.extend(_client_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig"))
    errors.extend(condition_errors(hook.get("matchConditions") or (), f"{path}.matchConditions", faults))
    errors.extend(_review_version_errors(hook.get("admissionReviewVersions") or (), f"{path}.admissionReviewVersions"))
    return errors


def _review_version_errors(versions: Sequence[str], path: str) -> list[FieldError]:
    listed = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {listed}")]
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        at = f"{path}[{index}]"
        if version in versions[:index]:
            errors.append(invalid(at, version, "duplicate version"))
        else:
            errors += [invalid(at, version, fault) for fault in dns_1035_faults(version)]
    if not any(version in _REVIEW_VERSIONS for version in versions):
        errors.append(invalid(path, versions, f"must include at least one of {listed}"))
    return errors


def _name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    faults = subdomain_faults(name)
    if not faults and name.count(".") < 2:
        faults = [_NAME]
    return [invalid(path, name, fault) for fault in faults]


def _client_errors(config: Mapping[str, Any], path: str) -> list[FieldError]:
    url: str | None = config.get("url")
    service: Mapping[str, Any] | None = config.get("service")
    if (url is None) is (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is None:
        return _url_errors(url or "", f"{path}.url")
    # Upstream names the other member of the two.
    errors = [required(f"{path}.service.name")] if not service.get("namespace") else []
    errors += [required(f"{path}.service.namespace")] if not service.get("name") else []
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        errors.append(invalid(f"{path}.service.port", port, _PORT))
    way = service.get("path") or ""
    return [*errors, *(invalid(f"{path}.service.path", way, fault) for fault in _path_faults(way))]


def _path_faults(way: str) -> Iterator[str]:
    """
    >>> list(_path_faults("/a/b/")), list(_path_faults("x"))
    ([], ["must start with a '/'", 'segment[0] may not be empty'])
    """
    if way in ("", "/"):
        return
    if not way.startswith("/"):
        yield "must start with a '/'"
    for index, segment in enumerate(way.removesuffix("/")[1:].split("/")):
        if not segment:
            yield f"segment[{index}] may not be empty"
        else:
            yield from (f"segment[{index}]: {fault}" for fault in subdomain_faults(segment))


def _url_errors(url: str, path: str) -> list[FieldError]:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        return [invalid(path, url, f"url must be a valid URL: {error}")]
    faults = []
    if parts.scheme != "https":
        faults.append(_HTTPS)
    if not host:
        faults.append(_HOST)
    if parts.username is not None:
        faults.append("user information is not permitted in the URL")
    if parts.fragment:
        faults.append("fragments are not permitted in the URL")
    if parts.query:
        faults.append("query parameters are not permitted in the URL")
    # What is wrong with the scheme or the host is said of these.
    shown = {_HTTPS: parts.scheme, _HOST: host or ""}
    return [invalid(path, shown.get(fault, url), fault) for fault in faults]


CONFIGURATION: Final = as_validator(_configuration_create)
