"""Several kubeconfigs as one, as kubectl reads `$KUBECONFIG`: of two entries of one name the first file's counts."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import yaml
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError

_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Members that name a file, beside the kubeconfig they stand in."""


def files_of(variable: str) -> list[Path]:
    """
    >>> [str(file) for file in files_of("/a::/b")]
    ['/a', '/b']
    """
    return [Path(name) for name in variable.split(os.pathsep) if name]


def merged(files: Iterable[Path]) -> KubeConfig:
    """Files that are not there count for nothing, unless none is. Raises ConfigError, OSError, YAMLError."""
    config: dict[str, Any] = {"current-context": None, "clusters": [], "contexts": [], "users": []}
    found = [file for file in map(Path.expanduser, files) if file.is_file()]
    if not found:
        raise ConfigError("Configuration file " + " or ".join(map(str, files)) + " not found")
    for file in found:
        loaded = yaml.safe_load(file.read_text()) or {}
        config["current-context"] = config["current-context"] or loaded.get("current-context")
        for kind, member in (("clusters", "cluster"), ("contexts", "context"), ("users", "user")):
            known = {entry["name"] for entry in config[kind]}
            for entry in loaded.get(kind) or ():
                if entry["name"] not in known:
                    config[kind].append({**entry, member: _with_whole_paths(entry.get(member) or {}, file)})
    if not config["clusters"]:
        raise KeyError("clusters")
    return KubeConfig.from_dict(config)


def _with_whole_paths(entry: dict[str, Any], file: Path) -> dict[str, Any]:
    own = {name: str(file.parent.absolute() / entry[name]) for name in _FILES if entry.get(name)}
    return {**entry, **own}
