"""Environment variables of a container and where their values come from."""

from collections.abc import Sequence
from typing import Final

from doorman.base.errors import FieldError, field_not_found, invalid, required
from doorman.semantics.name_syntax import config_key_faults, dns_label_faults, env_name_faults, subdomain_faults
from doorman.validation.document_paths import backstep_errors
from doorman.validation.faults import Part, badly, maybe, named
from doorman.validation.pods.container.field_references import field_errors, resource_field_errors

_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_SOURCE: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_ONE_AT_A_TIME: Final = "may not have more than one field specified at a time"


def env_errors(env: Sequence[Part], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, variable in enumerate(env):
        errors += named(variable, "name", f"{path}[{index}]", env_name_faults)
        if (source := variable.get("valueFrom")) is not None:
            errors += _source_errors(variable, source, f"{path}[{index}].valueFrom")
    return errors


def _source_errors(variable: Part, source: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    given = [name for name in _SOURCES if source.get(name) is not None]
    for name in given:
        at, reference = f"{path}.{name}", source[name]
        match name:
            case "fieldRef":
                errors += field_errors(reference, at, _FIELDS)
            case "resourceFieldRef":
                errors += resource_field_errors(reference, at, is_volume=False)
            case "fileKeyRef":
                errors += _file_key_errors(reference, at)
            case _:
                whose = reference.get("name") or ""
                errors += badly(f"{at}.name", whose, subdomain_faults(whose))
                errors += named(reference, "key", at, config_key_faults)
    if not given:
        errors.append(invalid(path, "", _ONE_SOURCE))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        errors.append(invalid(path, "", _ONE_AT_A_TIME))
    return errors


def _file_key_errors(reference: Part, path: str) -> list[FieldError]:
    errors = named(reference, "key", path, env_name_faults)
    errors += named(reference, "volumeName", path, dns_label_faults)
    place = reference.get("path") or ""
    return [*errors, *(backstep_errors(place, f"{path}.path") if place else [required(f"{path}.path")])]


def env_from_errors(sources: Sequence[Part], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        errors += maybe(source, "prefix", at, env_name_faults)
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            errors += named(source[name], "name", f"{at}.{name}", _reference_faults)
        if not given:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(path, "", _ONE_AT_A_TIME))
    return errors


def _reference_faults(name: str) -> list[str]:
    """A name that may end with a hyphen, as if more were to follow."""
    return subdomain_faults(name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name)


def file_key_volume_errors(spec: Part, path: str) -> list[FieldError]:
    """Values from files: the files are in an empty directory of the pod."""
    errors: list[FieldError] = []
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            for place, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is None:
                    continue
                name = reference.get("volumeName") or ""
                at = f"{path}.{group}[{index}].env[{place}].valueFrom.fileKeyRef.volumeName"
                found = [volume for volume in spec.get("volumes") or () if volume.get("name", "") == name]
                if not found:
                    errors.append(field_not_found(at, name))
                elif found[-1].get("emptyDir") is None:
                    errors.append(invalid(at, name, "referenced volume must be of type emptyDir"))
    return errors
