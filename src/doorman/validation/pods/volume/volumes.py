"""Volumes of a pod, and how containers mount them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.base.errors import (
    FieldError,
    JsonText,
    duplicate,
    field_not_found,
    forbidden,
    invalid,
    not_supported,
    required,
)
from doorman.base.go_format import quote
from doorman.semantics.name_syntax import dns_label_faults, subdomain_faults
from doorman.validation.core.claim_spec import claim_template_errors
from doorman.validation.document_paths import backstep_errors, descending_path_errors
from doorman.validation.faults import Part, badly
from doorman.validation.pods.volume.volume_sources import POD_SOURCES, long_portal_errors, source_errors

Volumes = Mapping[str, Part]
"""The volumes that mounts may use, by name."""

_EMPTY_DIR_MODE: Final = "must be a number between 0 and 01777 (octal), both inclusive"
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")
_BIND_OPTIONS: Final = ("noexec", "nodev", "nosuid")
_BLOCK_ONLY: Final = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def volume_errors(volumes: Sequence[Part], pod: str, path: str, errors: list[FieldError]) -> dict[str, Part]:
    """The volumes that are in order, by name; what is wrong with the others goes into `errors`.

    `pod` is the pod's name where it is known: ephemeral volumes get claims named after it.
    """
    good: dict[str, Part] = {}
    made = {f"{pod}-{volume.get('name', '')}" for volume in volumes if pod and volume.get("ephemeral") is not None}
    for index, volume in enumerate(volumes):
        at, name = f"{path}[{index}]", volume.get("name") or ""
        found = _volume_errors(volume, pod, at)
        found += badly(f"{at}.name", name, dns_label_faults(name)) if name else [required(f"{at}.name")]
        if name in good:
            found.append(duplicate(f"{at}.name", name))
        if found:
            errors += found
        else:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in made:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, text))
    return good


def _volume_errors(volume: Part, pod: str, path: str) -> list[FieldError]:
    name = volume.get("name") or ""

    def ephemeral(source: Part, at: str) -> list[FieldError]:
        template = source.get("volumeClaimTemplate")
        if template is None:
            found = [required(f"{at}.volumeClaimTemplate")]
        else:
            found = claim_template_errors(template, f"{at}.volumeClaimTemplate")
        claim = f"{pod}-{name}"
        faults = subdomain_faults(claim) if pod and name else ()
        return [*found, *(invalid(f"{path}.name", name, f"PVC name {quote(claim)}: {fault}") for fault in faults)]

    errors = source_errors(volume, POD_SOURCES, path, {"ephemeral": ephemeral, "emptyDir": _empty_dir_errors})
    if volume.get("iscsi") is not None:
        errors += long_portal_errors(volume["iscsi"], name, f"{path}.name", name)
    return errors


def _empty_dir_errors(source: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    limit, mode = source.get("sizeLimit"), source.get("mode")
    if limit is not None and parse_quantity(limit) < 0:
        errors.append(forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))
    if mode is not None and not 0 <= mode <= 0o1777:
        errors.append(invalid(f"{path}.mode", mode, _EMPTY_DIR_MODE))
    return errors


def mount_errors(container: Part, volumes: Volumes, path: str) -> list[FieldError]:
    """`volumeMounts` of a container."""
    errors: list[FieldError] = []
    places: set[str] = set()
    devices = {one.get("name") or "": one.get("devicePath") or "" for one in container.get("volumeDevices") or ()}
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        at = f"{path}[{index}]"
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(required(f"{at}.name"))
        if name not in volumes:
            errors.append(field_not_found(f"{at}.name", name))
        if not place:
            errors.append(required(f"{at}.mountPath"))
        if place in places:
            errors.append(invalid(f"{at}.mountPath", place, "must be unique"))
        places.add(place)
        if name in devices:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        if place in devices.values():
            errors.append(invalid(f"{at}.mountPath", place, "must not already exist as a path in volumeDevices"))
        errors += _mount_option_errors(mount, container, volumes.get(name) or {}, at, path)
    return errors


def _mount_option_errors(mount: Part, container: Part, volume: Part, at: str, path: str) -> list[FieldError]:
    """Of some members the API tells without the number of the mount."""
    errors: list[FieldError] = []
    inside, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    errors += descending_path_errors(inside, f"{path}.subPath")
    if expression and inside:
        text = "subPathExpr and subPath are mutually exclusive"
        errors.append(invalid(f"{at}.subPathExpr", expression, text))
    errors += descending_path_errors(expression, f"{path}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            errors.append(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", text))
    errors += _recursive_errors(mount, f"{path}.recursiveReadOnly")
    options = mount.get("bindMountOptions") or ()
    for index, option in enumerate(options):
        if option not in _BIND_OPTIONS:
            errors.append(not_supported(f"{at}.bindMountOptions[{index}]", option, sorted(_BIND_OPTIONS)))
        if option in options[:index]:
            errors.append(duplicate(f"{at}.bindMountOptions[{index}]", option))
    if options and volume.get("image") is not None:
        text = "bindMountOptions may not be used with image volumes"
        errors.append(invalid(f"{at}.bindMountOptions", options, text))
    return errors


def _recursive_errors(mount: Part, path: str) -> list[FieldError]:
    wanted = mount.get("recursiveReadOnly")
    if wanted is None or wanted == "Disabled":
        return []
    if wanted not in _READ_ONLY:
        return [not_supported(path, JsonText(wanted), _READ_ONLY)]
    errors = [] if mount.get("readOnly") else [forbidden(path, "may only be specified when readOnly is true")]
    if mount.get("mountPropagation") not in (None, "None"):
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def device_errors(container: Part, volumes: Volumes, path: str) -> list[FieldError]:
    """`volumeDevices` of a container."""
    errors: list[FieldError] = []
    names: set[str] = set()
    places: set[str] = set()
    mounts: dict[str, Any] = {
        one.get("name") or "": one.get("mountPath") or "" for one in container.get("volumeMounts") or ()
    }
    for index, device in enumerate(container.get("volumeDevices") or ()):
        name, place, at = device.get("name") or "", device.get("devicePath") or "", f"{path}[{index}]"
        volume = volumes.get(name)
        if not name:
            errors.append(required(f"{at}.name"))
        if name in names:
            errors.append(invalid(f"{at}.name", name, "must be unique"))
        if volume is None:
            errors.append(field_not_found(f"{at}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            errors.append(invalid(f"{at}.name", name, _BLOCK_ONLY))
        if not place:
            errors.append(required(f"{at}.devicePath"))
        if place in places:
            errors.append(invalid(f"{at}.devicePath", place, "must be unique"))
        if backstep_errors(place, at):
            errors.append(invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if name in mounts:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if place in mounts.values():
            errors.append(invalid(f"{at}.devicePath", place, "must not already exist as a path in volumeMounts"))
        if name:
            names.add(name)
    return errors
