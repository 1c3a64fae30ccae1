"""Where the contents of a volume come from: one check a type of source, for pods and for PersistentVolumes.

Most sources need no more than some members (`REQUIRED`); the others have a function.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required, too_long
from doorman.semantics.name_syntax import dns_label_faults, subdomain_faults
from doorman.validation.document_paths import backstep_errors, descending_path_errors
from doorman.validation.faults import Part, badly, maybe, named, needed, one_of
from doorman.validation.pods.volume.volume_files import (
    config_map_errors,
    downward_errors,
    projected_errors,
    secret_errors,
)

VolumeSourceCheck = Callable[[Part, str], list[FieldError]]

_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_IQN: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$", re.ASCII),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$", re.ASCII),
}
_LUN: Final = "must be between 0 and 255, inclusive"
_PARTITION: Final = "must be between 1 and 255, inclusive"
_TOO_LONG_PORTAL: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"
_MANAGED_DISK: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
DRIVER_BYTES_MAX: Final = 63

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "persistentVolumeClaim": ("claimName",),
    "glusterfs": ("endpoints", "path"),
    "rbd": ("monitors", "image"),
    "cephfs": ("monitors",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
}


def _requires(*names: str) -> VolumeSourceCheck:
    return lambda source, path: [error for name in names for error in needed(source, name, path)]


def host_path_errors(source: Part, path: str) -> list[FieldError]:
    if not source.get("path"):
        return [required(f"{path}.path")]
    errors = backstep_errors(source["path"], f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return errors


def local_errors(source: Part, path: str) -> list[FieldError]:
    if not source.get("path"):
        return [required(f"{path}.path")]
    return backstep_errors(source["path"], f"{path}.path")


def _git_repo_errors(source: Part, path: str) -> list[FieldError]:
    return [
        *needed(source, "repository", path),
        *descending_path_errors(source.get("directory") or "", f"{path}.directory"),
    ]


def _disk_errors(name: str) -> VolumeSourceCheck:
    def check(source: Part, path: str) -> list[FieldError]:
        errors = needed(source, name, path)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            errors.append(invalid(f"{path}.partition", partition, _PARTITION))
        return errors

    return check


def _nfs_errors(source: Part, path: str) -> list[FieldError]:
    errors = [*needed(source, "server", path), *needed(source, "path", path)]
    place = source.get("path") or ""
    return errors if place.startswith("/") else [*errors, invalid(f"{path}.path", place, "must be an absolute path")]


def iscsi_errors(source: Part, path: str) -> list[FieldError]:
    return _iscsi_errors(source, path, "must be valid format starting with iqn, eui, or naa")


def iscsi_volume_errors(source: Part, path: str) -> list[FieldError]:
    """The same of a PersistentVolume, which says less and asks for the secret's name."""
    return _iscsi_errors(source, path, "must be valid format", is_persistent=True)


def _iscsi_errors(source: Part, path: str, other: str, *, is_persistent: bool = False) -> list[FieldError]:
    errors = needed(source, "targetPortal", path)
    if not source.get("iqn"):
        errors.append(required(f"{path}.iqn"))
    else:
        errors += _iqn_errors(source["iqn"], f"{path}.iqn", other)
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, _LUN))
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        errors.append(required(f"{path}.secretRef"))
    if is_persistent and secret is not None:
        errors += needed(secret, "name", f"{path}.secretRef")
    if (initiator := source.get("initiatorName")) is not None:
        errors += _iqn_errors(initiator, f"{path}.initiatorname", other)
    return errors


def _iqn_errors(text: str, path: str, other: str) -> list[FieldError]:
    form = _IQN.get(text[:3])
    if form is None:
        return [invalid(path, text, other)]
    return [] if form.search(text) else [invalid(path, text, "must be valid format")]


def long_portal_errors(source: Part, name: str, path: str, shown: str) -> list[FieldError]:
    """Both together become the name of a directory."""
    portal = source.get("targetPortal") or ""
    if source.get("initiatorName") is None or len(f"{name}:{portal}".encode()) <= 64:
        return []
    return [invalid(path, shown, _TOO_LONG_PORTAL)]


def _flocker_errors(source: Part, path: str) -> list[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    errors = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(path, "resource", text))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def _quobyte_errors(source: Part, path: str) -> list[FieldError]:
    registry = source.get("registry") or ""
    errors: list[FieldError] = []
    if not registry:
        errors.append(required(f"{path}.registry", _PAIRS))
    elif len((source.get("tenant") or "").encode()) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(f"{path}.tenant", text))
    else:
        errors += [
            invalid(f"{path}.registry", registry, _PAIRS) for pair in registry.split(",") if not _is_host_port(pair)
        ]
    return [*errors, *needed(source, "volume", path)]


def _is_host_port(pair: str) -> bool:
    host, colon, port = pair.rpartition(":")
    if not colon or "]" in port:
        return False
    if host.startswith("["):
        return host.endswith("]") and "[" not in host[1:] and "]" not in host[1:-1]
    return not set(host) & set(":[]") and not set(port) & set("[]")


def _cinder_errors(source: Part, path: str) -> list[FieldError]:
    errors = needed(source, "volumeID", path)
    secret = source.get("secretRef")
    return errors if secret is None else [*errors, *needed(secret, "name", f"{path}.secretRef")]


def cinder_volume_errors(source: Part, path: str) -> list[FieldError]:
    errors = _cinder_errors(source, path)
    secret = source.get("secretRef")
    return errors if secret is None else [*errors, *needed(secret, "namespace", f"{path}.secretRef")]


def _fc_errors(source: Part, path: str) -> list[FieldError]:
    targets, ids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    errors = []
    if not targets and not ids:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if targets and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", targets, text))
    if targets and lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif targets and lun is not None and not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, _LUN))
    return errors


def _flex_errors(source: Part, path: str) -> list[FieldError]:
    errors = needed(source, "driver", path)
    for key in source.get("options") or ():
        if ("." + key.partition("/")[0].lower()).endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, text))
    return errors


def azure_file_volume_errors(source: Part, path: str) -> list[FieldError]:
    errors = _requires("secretName", "shareName")(source, path)
    return [*errors, required(f"{path}.secretNamespace")] if source.get("secretNamespace") == "" else errors


def _azure_disk_errors(source: Part, path: str) -> list[FieldError]:
    errors = [*needed(source, "diskName", path), *needed(source, "diskURI", path)]
    kind, uri = source.get("kind"), source.get("diskURI") or ""
    if source.get("cachingMode") is not None:
        errors += one_of(source, "cachingMode", path, ("None", "ReadOnly", "ReadWrite"))
    if kind is not None:
        errors += one_of(source, "kind", path, ("Dedicated", "Managed", "Shared"))
        prefix, form = ("/subscriptions/", _MANAGED_DISK) if kind == "Managed" else ("https://", _BLOB_DISK)
        if not uri.startswith(prefix):
            errors.append(not_supported(f"{path}.diskURI", uri, (form,)))
    return errors


def storage_os_errors(source: Part, path: str) -> list[FieldError]:
    errors = named(source, "volumeName", path, dns_label_faults)
    errors += maybe(source, "volumeNamespace", path, dns_label_faults)
    secret = source.get("secretRef")
    return errors if secret is None else [*errors, *needed(secret, "name", f"{path}.secretRef")]


def storage_os_volume_errors(source: Part, path: str) -> list[FieldError]:
    errors = storage_os_errors(source, path)
    secret = source.get("secretRef")
    return errors if secret is None else [*errors, *needed(secret, "namespace", f"{path}.secretRef")]


def driver_name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, DRIVER_BYTES_MAX)] if len(name.encode()) > DRIVER_BYTES_MAX else []
    return [*errors, *badly(path, name, subdomain_faults(name.lower()))]


def _csi_errors(source: Part, path: str) -> list[FieldError]:
    errors = driver_name_errors(source.get("driver") or "", f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return errors
    name = secret.get("name") or ""
    if not name:
        return [*errors, required(f"{path}.nodePublishSecretRef.name")]
    return [*errors, *badly(f"{path}.name", name, subdomain_faults(name))]


def csi_volume_errors(source: Part, path: str) -> list[FieldError]:
    errors = driver_name_errors(source.get("driver") or "", f"{path}.driver")
    errors += needed(source, "volumeHandle", path)
    for name in (
        "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
    ):  # fmt: skip
        if (secret := source.get(name)) is not None:
            errors += named(secret, "name", f"{path}.{name}", subdomain_faults)
            errors += named(secret, "namespace", f"{path}.{name}", dns_label_faults)
    return errors


def glusterfs_volume_errors(source: Part, path: str) -> list[FieldError]:
    errors = _requires("endpoints", "path")(source, path)
    namespace = source.get("endpointsNamespace")
    at = f"{path}.endpointsNamespace"
    if namespace == "":
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        return [*errors, invalid(at, namespace, text)]
    return errors if namespace is None else [*errors, *badly(at, namespace, dns_label_faults(namespace))]


def _image_errors(source: Part, path: str) -> list[FieldError]:
    errors = needed(source, "reference", path)
    if not source.get("pullPolicy"):
        return [*errors, required(f"{path}.pullPolicy")]
    return [*errors, *one_of(source, "pullPolicy", path, ("Always", "IfNotPresent", "Never"))]


SIMPLE: Final[Mapping[str, VolumeSourceCheck]] = {name: _requires(*members) for name, members in REQUIRED.items()}

POD_SOURCES: Final[Mapping[str, VolumeSourceCheck | None]] = {
    "emptyDir": None,
    "hostPath": host_path_errors,
    "gitRepo": _git_repo_errors,
    "gcePersistentDisk": _disk_errors("pdName"),
    "awsElasticBlockStore": _disk_errors("volumeID"),
    "secret": secret_errors,
    "nfs": _nfs_errors,
    "iscsi": iscsi_errors,
    "glusterfs": SIMPLE["glusterfs"],
    "flocker": _flocker_errors,
    "persistentVolumeClaim": SIMPLE["persistentVolumeClaim"],
    "rbd": SIMPLE["rbd"],
    "cinder": _cinder_errors,
    "cephfs": SIMPLE["cephfs"],
    "quobyte": _quobyte_errors,
    "downwardAPI": downward_errors,
    "fc": _fc_errors,
    "flexVolume": _flex_errors,
    "configMap": config_map_errors,
    "azureFile": SIMPLE["azureFile"],
    "vsphereVolume": SIMPLE["vsphereVolume"],
    "photonPersistentDisk": SIMPLE["photonPersistentDisk"],
    "portworxVolume": SIMPLE["portworxVolume"],
    "azureDisk": _azure_disk_errors,
    "storageos": storage_os_errors,
    "projected": projected_errors,
    "scaleIO": SIMPLE["scaleIO"],
    "csi": _csi_errors,
    "ephemeral": None,
    "image": _image_errors,
}
"""Sources of a pod's volumes, in the order they are looked at; None: checked with the volume."""

VOLUME_SOURCES: Final[Mapping[str, VolumeSourceCheck]] = {
    "hostPath": host_path_errors,
    "gcePersistentDisk": _disk_errors("pdName"),
    "awsElasticBlockStore": _disk_errors("volumeID"),
    "glusterfs": glusterfs_volume_errors,
    "flocker": _flocker_errors,
    "nfs": _nfs_errors,
    "rbd": SIMPLE["rbd"],
    "quobyte": _quobyte_errors,
    "cephfs": SIMPLE["cephfs"],
    "iscsi": iscsi_volume_errors,
    "cinder": cinder_volume_errors,
    "fc": _fc_errors,
    "flexVolume": _flex_errors,
    "azureFile": azure_file_volume_errors,
    "vsphereVolume": SIMPLE["vsphereVolume"],
    "photonPersistentDisk": SIMPLE["photonPersistentDisk"],
    "portworxVolume": SIMPLE["portworxVolume"],
    "azureDisk": _azure_disk_errors,
    "scaleIO": SIMPLE["scaleIO"],
    "local": local_errors,
    "storageos": storage_os_volume_errors,
    "csi": csi_volume_errors,
}
"""Sources of PersistentVolumes, in the order they are looked at."""

_TOLD_AT: Final = {"gcePersistentDisk": "persistentDisk"}
_SECOND_TOLD_AT: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Fields the API names otherwise than they are spelled."""


def source_errors(
    holder: Part,
    sources: Mapping[str, VolumeSourceCheck | None],
    path: str,
    special: Mapping[str, VolumeSourceCheck] | None = None,
) -> list[FieldError]:
    """One source, and what is wrong with it; `special` has the checks that need to know more."""
    errors: list[FieldError] = []
    found = [name for name in sources if holder.get(name) is not None]
    for index, name in enumerate(found):
        if index and not (name == "flexVolume" and sources is VOLUME_SOURCES):
            at = f"{path}.{_SECOND_TOLD_AT.get(name, name)}"
            errors.append(forbidden(at, "may not specify more than 1 volume type"))
            continue
        check = (special or {}).get(name) or sources[name]
        if check is not None:
            errors += check(holder[name], f"{path}.{_TOLD_AT.get(name, name)}")
    return errors if found else [*errors, required(path, "must specify a volume type")]
