"""Ingresses and their classes."""

from typing import Final

from doorman.api.well_known import INGRESS_CLASS_ANNOTATION
from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required, too_long
from doorman.base.json_types import Document
from doorman.semantics.addresses import address_or_none, ip_faults
from doorman.semantics.name_syntax import dns_label_faults, path_segment_faults, port_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.document_paths import domain_path_errors
from doorman.validation.faults import (
    Part,
    badly,
    each,
    fixed,
    maybe,
    named,
    port_number,
    validator,
    wildcard_subdomain_faults,
)
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_FORBIDDEN_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_FORBIDDEN_AT_THE_END: Final = ("/..", "/.")
_CONTROLLER_BYTES_MAX: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")
_NOT_AN_IP: Final = "must be a DNS name, not an IP address"


def _create(doc: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(doc), *_spec_errors(doc.get("spec") or {})]
    annotation = (doc["metadata"].get("annotations") or {}).get(INGRESS_CLASS_ANNOTATION)
    wanted = (doc.get("spec") or {}).get("ingressClassName")
    if annotation is not None and wanted is not None and annotation != wanted:
        text = "must match `ingressClassName` when both are specified"
        errors.append(invalid(f"annotations.{INGRESS_CLASS_ANNOTATION}", annotation, text))
    return errors


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        status = (new.get("status") or {}).get("loadBalancer") or {}
        return distinct([*errors, *each(status.get("ingress"), "status.loadBalancer.ingress", _address_errors)])
    return distinct([*errors, *validate_metadata(new), *_spec_errors(new.get("spec") or {})])


def _address_errors(ingress: Part, path: str) -> list[FieldError]:
    errors = []
    if text := ingress.get("ip"):
        errors += badly(f"{path}.ip", text, ip_faults(text, legacy=True))
    if host := ingress.get("hostname"):
        errors += badly(f"{path}.hostname", host, subdomain_faults(host))
        if address_or_none(host) is not None:
            errors.append(invalid(f"{path}.hostname", host, _NOT_AN_IP))
    return errors


def _spec_errors(spec: Part) -> list[FieldError]:
    errors: list[FieldError] = []
    rules, backend = spec.get("rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(invalid("spec", rules, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend_errors(backend, "spec.defaultBackend")
    errors += each(rules, "spec.rules", _rule_errors)
    errors += each(spec.get("tls"), "spec.tls", _tls_errors)
    if (name := spec.get("ingressClassName")) is not None:
        errors += badly("spec.ingressClassName", name, subdomain_faults(name))
    return errors


def _rule_errors(rule: Part, path: str) -> list[FieldError]:
    errors = []
    if host := rule.get("host"):
        if address_or_none(host) is not None:
            errors.append(invalid(f"{path}.host", host, _NOT_AN_IP))
        errors += badly(f"{path}.host", host, _host_faults(host))
    if (http := rule.get("http")) is not None:
        if not http.get("paths"):
            errors.append(required(f"{path}.http.paths"))
        errors += each(http.get("paths"), f"{path}.http.paths", _path_errors)
    return errors


def _host_faults(host: str) -> list[str]:
    return wildcard_subdomain_faults(host) if "*" in host else subdomain_faults(host)


def _path_errors(rule: Part, path: str) -> list[FieldError]:
    kind, text = rule.get("pathType"), rule.get("path") or ""
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", JsonText(kind), _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(invalid(f"{path}.path", text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        bad = [f"must not contain '{part}'" for part in _FORBIDDEN_IN_PATHS if part in text]
        bad += [f"cannot end with '{part}'" for part in _FORBIDDEN_AT_THE_END if text.endswith(part)]
        errors += badly(f"{path}.path", text, bad)
    return [*errors, *_backend_errors(rule.get("backend") or {}, f"{path}.backend")]


def _backend_errors(backend: Part, path: str) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference_errors(resource, f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors = named(service, "name", f"{path}.service", dns_label_faults)
    port = service.get("port") or {}
    name, number = port.get("name") or "", port.get("number") or 0
    if name and number:
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif name:
        errors += badly(f"{path}.service.port.name", name, port_name_faults(name))
    elif number:
        errors += port_number(number, f"{path}.service.port.number")
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _reference_errors(reference: Part, path: str) -> list[FieldError]:
    group = reference.get("apiGroup")
    errors = badly(f"{path}.apiGroup", group, subdomain_faults(group)) if group is not None else []
    errors += named(reference, "kind", path, path_segment_faults)
    return [*errors, *named(reference, "name", path, path_segment_faults)]


def _tls_errors(tls: Part, path: str) -> list[FieldError]:
    errors = each(tls.get("hosts"), f"{path}.hosts", lambda host, at: badly(at, host, _host_faults(host)))
    return [*errors, *maybe(tls, "secretName", path, subdomain_faults)]


def _class_errors(doc: Document) -> list[FieldError]:
    spec: Part = doc.get("spec") or {}
    errors = []
    controller = spec.get("controller") or ""
    if len(controller.encode()) > _CONTROLLER_BYTES_MAX:
        errors.append(too_long("spec.controller", _CONTROLLER_BYTES_MAX))
    errors += domain_path_errors(controller, "spec.controller")
    parameters = spec.get("parameters")
    return errors if parameters is None else [*errors, *_parameter_errors(parameters, "spec.parameters")]


def _parameter_errors(parameters: Part, path: str) -> list[FieldError]:
    errors = _reference_errors(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        errors.append(required(f"{path}.scope"))
    elif scope not in _SCOPES:
        errors.append(not_supported(f"{path}.scope", scope, _SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        errors += badly(f"{path}.namespace", namespace, dns_label_faults(namespace))
    return errors


INGRESS: Final = Validator(create=_create, update=_update)
INGRESS_CLASS: Final = validator(
    _class_errors,
    change=lambda new, old: fixed(
        {"controller": "", **(new.get("spec") or {})}, old.get("spec") or {}, "controller", "spec"
    ),
)
