"""The volumes of a pod."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.cli.describe.description import Description

Source = Mapping[str, Any]
"""A volume's source as JSON."""


def describe_volumes(out: Description, volumes: Sequence[Mapping[str, Any]], space: str = "") -> None:
    """`space`: how much further in than a pod's."""
    if not volumes:
        out.pair(f"{space}Volumes", "<none>")
        return
    out.line(f"{space}Volumes:")
    for volume in volumes:
        out.line(f"{' ' if space else ''}{volume['name']}:", 1)
        kind = next((kind for kind in volume if kind != "name"), "")
        shown = _KINDS.get(kind)
        pairs = shown(volume[kind] or {}) if shown is not None else [("Type", kind or "<unknown>")]
        for name, value in pairs:
            out.pair(name, value, 2)


Pairs = list[tuple[str, object]]


def _empty_dir(source: Source) -> Pairs:
    return [
        ("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)"),
        ("Medium", source.get("medium", "")),
        ("SizeLimit", source.get("sizeLimit", "<unset>")),
    ]


def _host_path(source: Source) -> Pairs:
    return [
        ("Type", "HostPath (bare host directory volume)"),
        ("Path", source.get("path", "")),
        ("HostPathType", source.get("type", "")),
    ]


def _config_map(source: Source) -> Pairs:
    return [
        ("Type", "ConfigMap (a volume populated by a ConfigMap)"),
        ("Name", source.get("name", "")),
        ("Optional", _truth(source)),
    ]


def _secret(source: Source) -> Pairs:
    return [
        ("Type", "Secret (a volume populated by a Secret)"),
        ("SecretName", source.get("secretName", "")),
        ("Optional", _truth(source)),
    ]


def _claim(source: Source) -> Pairs:
    return [
        ("Type", "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)"),
        ("ClaimName", source.get("claimName", "")),
        ("ReadOnly", "true" if source.get("readOnly") else "false"),
    ]


def _ephemeral(source: Source) -> Pairs:
    spec = (source.get("volumeClaimTemplate") or {}).get("spec") or {}
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "")
    return [
        ("Type", "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)"),
        ("StorageClass", spec.get("storageClassName", "")),
        ("Volume", spec.get("volumeName", "")),
        ("Capacity", storage),
        ("Access Modes", ""),
        ("VolumeMode", spec.get("volumeMode", "")),
    ]


def _projected(source: Source) -> Pairs:
    pairs: Pairs = [("Type", "Projected (a volume that contains injected data from multiple sources)")]
    for one in source.get("sources") or ():
        if "secret" in one:
            pairs += [("SecretName", one["secret"].get("name", "")), ("Optional", _truth(one["secret"]))]
        elif "downwardAPI" in one:
            pairs.append(("DownwardAPI", "true"))
        elif "configMap" in one:
            pairs += [("ConfigMapName", one["configMap"].get("name", "")), ("Optional", _truth(one["configMap"]))]
        elif "serviceAccountToken" in one:
            pairs.append(("TokenExpirationSeconds", one["serviceAccountToken"].get("expirationSeconds", 3600)))
    return pairs


def _truth(source: Source) -> str:
    return "true" if source.get("optional") else "false"


_KINDS: Final[Mapping[str, Callable[[Source], Pairs]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "configMap": _config_map,
    "secret": _secret,
    "persistentVolumeClaim": _claim,
    "ephemeral": _ephemeral,
    "projected": _projected,
}
