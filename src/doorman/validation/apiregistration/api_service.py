"""APIServices: who serves a version of a group."""

from typing import Final

from doorman.base.errors import FieldError, invalid, not_supported, required
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_1035_faults, path_segment_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import PORT_RANGE, Part, badly, maybe, needed
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_GROUP_PRIORITY_MAX: Final = 20000
_VERSION_PRIORITY_MAX: Final = 1000
_STATUSES: Final = ("True", "False", "Unknown")


def _create(doc: Document, _context: Context) -> list[FieldError]:
    spec: Part = doc.get("spec") or {}
    group, version = spec.get("group") or "", spec.get("version") or ""

    def name_faults(name: str) -> list[str]:
        wanted = f"{version}.{group}"
        if faults := path_segment_faults(name):
            return faults
        return [] if name == wanted else [f'must be `spec.version+"."+spec.group`: {quote(wanted)}']

    errors = validate_metadata(doc, name_faults)
    if not group and version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    errors += maybe(spec, "group", "spec", subdomain_faults)
    errors += badly("spec.version", version, dns_1035_faults(version))
    for name, most in (("groupPriorityMinimum", _GROUP_PRIORITY_MAX), ("versionPriority", _VERSION_PRIORITY_MAX)):
        if not 0 < (number := spec.get(name) or 0) <= most:
            errors.append(invalid(f"spec.{name}", number, f"must be positive and less than {most}"))
    return [*errors, *_service_errors(spec)]


def _service_errors(spec: Part) -> list[FieldError]:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    errors: list[FieldError] = []
    if service is None:
        if bundle:
            size = len(bundle) * 3 // 4 - bundle.count("=")
            errors.append(invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle"))
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid("spec.insecureSkipTLSVerify", insecure, text))
        return errors
    errors += [*needed(service, "namespace", "spec.service"), *needed(service, "name", "spec.service")]
    if not 1 <= (port := service.get("port") or 0) <= 65535:
        errors.append(invalid("spec.service.port", port, f"port is not valid: {PORT_RANGE}"))
    if insecure and bundle:
        errors.append(invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present"))
    return errors


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if not context.subresource:
        return distinct([*errors, *_create(new, context)])
    for index, condition in enumerate((new.get("status") or {}).get("conditions") or ()):
        if (state := condition.get("status") or "") not in _STATUSES:
            errors.append(not_supported(f"status.conditions[{index}].status", state, _STATUSES))
    return distinct(errors)


API_SERVICE: Final = Validator(create=_create, update=_update)
