"""The kubeconfig that a server writes: its own cluster, user and context, put into whatever the file already has.

As kind and minikube do: entries of other names are left alone, and so are the file's mode and a link to it.
"""

import base64
import os
import stat
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from doorman.runtime.access.credentials import Credentials
from doorman.store.data_directory import write_private
from doorman.store.store_contract import Unusable

NAME: Final = "doorman"
"""Of the cluster, the user and the context, where no other is given."""

_SECTIONS: Final = ("clusters", "users", "contexts")

Config = dict[str, Any]  # a kubeconfig as YAML has it


class WrittenKubeconfig(msgspec.Struct, frozen=True):
    file: Path
    context: str
    """The one that is current now."""
    replaced_context: str = ""
    """The context that was current before, if another one is now."""


def own_config(credentials: Credentials, server: str, name: str = NAME) -> Config:
    """For kubectl and every client library: the CA and the administrator's token."""
    authority = base64.b64encode(credentials.ca_certificate).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": credentials.admin_token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    }


def merged(existing: Config, own: Config, *, takes_over: bool) -> Config:
    """`own` put into `existing`. Its context becomes the current one if it is to take over, or if there is none.

    >>> mine = {"contexts": [{"name": "a"}], "current-context": "a", "preferences": {"x": 1}}
    >>> own = {"contexts": [{"name": "doorman"}], "current-context": "doorman"}
    >>> merged(mine, own, takes_over=False)["current-context"], merged(mine, own, takes_over=True)["current-context"]
    ('a', 'doorman')
    >>> [context["name"] for context in merged(mine, own, takes_over=True)["contexts"]]
    ['a', 'doorman']
    """
    out = {"apiVersion": "v1", "kind": "Config", **existing}
    for section in _SECTIONS:
        added = own.get(section) or []
        names = [entry["name"] for entry in added]
        others = [entry for entry in existing.get(section) or [] if entry.get("name") not in names]
        out[section] = [*others, *added]
    if takes_over or not existing.get("current-context"):
        out["current-context"] = own["current-context"]
    return out


def check_kubeconfig(file: Path) -> None:
    """Whether it could be written. Raises Unusable."""
    _read(file.resolve())


def write_kubeconfig(file: Path, own: Config, *, takes_over: bool) -> WrittenKubeconfig:
    """Raises Unusable, and then nothing has changed."""
    try:
        target = file.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        existing = _read(target)
        out = merged(existing, own, takes_over=takes_over)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        write_private(target, yaml.safe_dump(out, sort_keys=False).encode())
        if mode is not None:
            os.chmod(target, mode)
    except OSError as error:
        raise Unusable(
            f"cannot write the kubeconfig {file}: {error.strerror}", "give another place with --kubeconfig-out"
        ) from error
    before = str(existing.get("current-context") or "")
    now = str(out["current-context"])
    return WrittenKubeconfig(file, now, before if before not in ("", now) else "")


def _read(file: Path) -> Config:
    if not file.exists():
        return {}
    try:
        found = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _no_kubeconfig(file) from error
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(_is_section(found.get(name)) for name in _SECTIONS):
        raise _no_kubeconfig(file)
    return dict(found)


def _is_section(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(entry, dict) for entry in value))


def _no_kubeconfig(file: Path) -> Unusable:
    return Unusable(
        f"{file} is there and is no kubeconfig; it is left as it is", "give another place with --kubeconfig-out"
    )
