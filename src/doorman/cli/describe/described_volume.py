"""The volumes of a pod, and what is behind a PersistentVolume."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.cli.describe.described_claim import describe_claim_template
from doorman.cli.describe.description import NOTHING, UNSET, Description, Doc, go_list, truth

Field = tuple[str, str, Callable[[Any], str]]
"""A title, the member that is told, and how: of what is not set, too."""

_LENGTH_MAX: Final = 140


def describe_volumes(out: Description, volumes: Sequence[Doc], space: str = "") -> None:
    """`space`: how much further in than a pod's."""
    if not volumes:
        out.pair(f"{space}Volumes", NOTHING)
        return
    out.line(f"{space}Volumes:")
    for volume in volumes:
        out.line(f"{' ' if space else ''}{volume['name']}:", 1)
        describe_source(out, {kind: source for kind, source in volume.items() if kind != "name"})


def describe_source(out: Description, sources: Doc, *, is_persistent: bool = False) -> None:
    """Of the one source there is. That of a PersistentVolume may have more to tell."""
    kind = next((kind for kind in sources if kind in _KINDS), "")
    if not kind:
        out.line("<unknown>", 1)
        return
    text, fields = _KINDS[kind]
    source = sources[kind] or {}
    out.pair("Type", text, 2)
    for title, name, told in _PERSISTENT.get(kind, fields) if is_persistent else fields:
        out.pair(title, told(source.get(name)), 2)
    if kind in _MORE:
        _MORE[kind](out, source)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _number(value: object) -> str:
    return str(value or 0)


def _or_nothing(value: object) -> str:
    return NOTHING if value is None else str(value)


def _or_unset(value: object) -> str:
    return UNSET if value in (None, "0") else str(value)


def _names(value: Sequence[str] | None) -> str:
    return ", ".join(value or ())


def _reference(value: Doc | None) -> str:
    """As Go prints a pointer to one."""
    if value is None:
        return "nil"
    if "namespace" in value:
        return f"&SecretReference{{Name:{value.get('name', '')},Namespace:{value['namespace']},}}"
    return f"&LocalObjectReference{{Name:{value.get('name', '')},}}"


def _go_map(value: Mapping[str, str] | None) -> str:
    return f"map[{' '.join(f'{key}:{text}' for key, text in sorted((value or {}).items()))}]"


def _describe_ephemeral(out: Description, source: Doc) -> None:
    if source.get("volumeClaimTemplate") is not None:
        describe_claim_template(out, source["volumeClaimTemplate"], 2)


def _describe_projected(out: Description, source: Doc) -> None:
    for one in source.get("sources") or ():
        if "secret" in one or "configMap" in one:
            title, found = ("SecretName", one["secret"]) if "secret" in one else ("ConfigMapName", one["configMap"])
            out.pair(title, found.get("name", ""), 2)
            out.pair("Optional", truth(found.get("optional")), 2)
        elif "downwardAPI" in one:
            out.pair("DownwardAPI", "true", 2)
        elif "serviceAccountToken" in one:
            out.pair("TokenExpirationSeconds", one["serviceAccountToken"].get("expirationSeconds", 3600), 2)


def _describe_downward(out: Description, source: Doc) -> None:
    out.line("Items:", 2)
    for item in source.get("items") or ():
        for reference, name in (("fieldRef", "fieldPath"), ("resourceFieldRef", "resource")):
            if item.get(reference) is not None:
                out.line(f"{item[reference][name]} -> {item['path']}", 3)


def _describe_attributes(out: Description, source: Doc) -> None:
    """Each stands as far in as their title, the others behind two such spaces."""
    attributes = [f"{key}={value}" for key, value in sorted((source.get("volumeAttributes") or {}).items())]
    shown = [text[:_LENGTH_MAX] + "..." if len(text) > _LENGTH_MAX else text for text in attributes]
    first, *others = [f"    {text}" for text in shown] or [NOTHING]
    out.pair("VolumeAttributes", first, 2)
    for other in others:
        out.line(f"\t{other}", 4)


_FS: Final = ("FSType", "fsType", _text)
_READ_ONLY: Final = ("ReadOnly", "readOnly", truth)
_DISK: Final = (_FS, ("Partition", "partition", _number), _READ_ONLY)
_OPTIONAL: Final = ("Optional", "optional", truth)
_SECRET: Final = ("SecretRef", "secretRef", _reference)
_CSI_DRIVER: Final = ("Driver", "driver", _text)
_RBD: Final = (
    ("CephMonitors", "monitors", go_list), ("RBDImage", "image", _text), _FS, ("RBDPool", "pool", _text),
    ("RadosUser", "user", _text), ("Keyring", "keyring", _text), _SECRET, _READ_ONLY,
)  # fmt: skip
_CEPH: Final = (
    ("Monitors", "monitors", go_list), ("Path", "path", _text), ("User", "user", _text),
    ("SecretFile", "secretFile", _text), _SECRET, _READ_ONLY,
)  # fmt: skip
_ISCSI: Final = (
    "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)"
)
_EPHEMERAL: Final = "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)"
_FLEX: Final = "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)"

_KINDS: Final[Mapping[str, tuple[str, Sequence[Field]]]] = {
    "hostPath": (
        "HostPath (bare host directory volume)", [("Path", "path", _text), ("HostPathType", "type", _or_nothing)]
    ),
    "emptyDir": (
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        [("Medium", "medium", _text), ("SizeLimit", "sizeLimit", _or_unset)],
    ),
    "gcePersistentDisk": (
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        [("PDName", "pdName", _text), *_DISK],
    ),
    "awsElasticBlockStore": (
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)", [("VolumeID", "volumeID", _text), *_DISK]
    ),
    "gitRepo": (
        "GitRepo (a volume that is pulled from git when the pod is created)",
        [("Repository", "repository", _text), ("Revision", "revision", _text)],
    ),
    "secret": ("Secret (a volume populated by a Secret)", [("SecretName", "secretName", _text), _OPTIONAL]),
    "configMap": ("ConfigMap (a volume populated by a ConfigMap)", [("Name", "name", _text), _OPTIONAL]),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        [("Server", "server", _text), ("Path", "path", _text), _READ_ONLY],
    ),
    "iscsi": (
        _ISCSI,
        [
            ("TargetPortal", "targetPortal", _text), ("IQN", "iqn", _text), ("Lun", "lun", _number),
            ("ISCSIInterface", "iscsiInterface", _text), _FS, _READ_ONLY, ("Portals", "portals", go_list),
            ("DiscoveryCHAPAuth", "chapAuthDiscovery", truth), ("SessionCHAPAuth", "chapAuthSession", truth),
            _SECRET, ("InitiatorName", "initiatorName", _or_nothing),
        ],
    ),
    "glusterfs": (
        "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        [("EndpointsName", "endpoints", _text), ("Path", "path", _text), _READ_ONLY],
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        [("ClaimName", "claimName", _text), _READ_ONLY],
    ),
    "ephemeral": (_EPHEMERAL, []),
    "rbd": ("RBD (a Rados Block Device mount on the host that shares a pod's lifetime)", _RBD),
    "downwardAPI": ("DownwardAPI (a volume populated by information about the pod)", []),
    "cephfs": ("CephFS (a CephFS mount on the host that shares a pod's lifetime)", _CEPH),
    "fc": (
        "FC (a Fibre Channel disk)",
        [("TargetWWNs", "targetWWNs", _names), ("LUN", "lun", _or_nothing), _FS, _READ_ONLY],
    ),
    "azureFile": (
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        [("SecretName", "secretName", _text), ("ShareName", "shareName", _text), _READ_ONLY],
    ),
    "flexVolume": (_FLEX, [_CSI_DRIVER, _FS, _SECRET, _READ_ONLY, ("Options", "options", _go_map)]),
    "projected": ("Projected (a volume that contains injected data from multiple sources)", []),
    "csi": ("CSI (a Container Storage Interface (CSI) volume source)", [_CSI_DRIVER, _FS, _READ_ONLY]),
    "image": (
        "Image (a container image or OCI artifact)",
        [("Reference", "reference", _text), ("PullPolicy", "pullPolicy", _text)],
    ),
    "vsphereVolume": (
        "vSphereVolume (a Persistent Disk resource in vSphere)",
        [("VolumePath", "volumePath", _text), _FS, ("StoragePolicyName", "storagePolicyName", _text)],
    ),
    "cinder": (
        "Cinder (a Persistent Disk resource in OpenStack)",
        [("VolumeID", "volumeID", _text), _FS, _READ_ONLY, _SECRET],
    ),
    "azureDisk": (
        "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        [
            ("DiskName", "diskName", _text), ("DiskURI", "diskURI", _text), ("Kind", "kind", _text), _FS,
            ("CachingMode", "cachingMode", _text), _READ_ONLY,
        ],
    ),
    "portworxVolume": ("PortworxVolume (a Portworx Volume resource)", [("VolumeID", "volumeID", _text)]),
    "local": ("LocalVolume (a persistent volume backed by local storage on a node)", [("Path", "path", _text)]),
}  # fmt: skip

_PERSISTENT: Final[Mapping[str, Sequence[Field]]] = {
    "csi": [_CSI_DRIVER, _FS, ("VolumeHandle", "volumeHandle", _text), _READ_ONLY],
    "glusterfs": [
        ("EndpointsName", "endpoints", _text), ("EndpointsNamespace", "endpointsNamespace", _or_unset),
        ("Path", "path", _text), _READ_ONLY,
    ],
    "azureFile": [
        ("SecretName", "secretName", _text), ("SecretNamespace", "secretNamespace", _text),
        ("ShareName", "shareName", _text), _READ_ONLY,
    ],
}  # fmt: skip

_MORE: Final[Mapping[str, Callable[[Description, Doc], None]]] = {
    "ephemeral": _describe_ephemeral,
    "projected": _describe_projected,
    "downwardAPI": _describe_downward,
    "csi": _describe_attributes,
}
