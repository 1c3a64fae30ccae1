"""Which pods leave a node that is drained, as kubectl drain has it. Pure.

Rules
-----
1. Pods that have ended, and pods a node runs by itself (mirror pods), are no matter.
2. A DaemonSet's pod stays, and holds the drain up unless `--ignore-daemonsets`.
3. A pod that nobody would replace goes only with `--force`; its data in an emptyDir only with `--delete-emptydir-data`.
4. Whatever holds the drain up is told, for all pods at once, and then nothing leaves.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.well_known import MIRROR_POD_ANNOTATION

_DAEMON_SETS: Final = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
_EMPTY_DIRS: Final = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
_UNMANAGED: Final = "cannot delete Pods that declare no controller (use --force to override)"


class DrainOptions(msgspec.Struct, frozen=True, kw_only=True):
    ignores_daemon_sets: bool = False
    deletes_empty_dirs: bool = False
    forces: bool = False


class Departure(msgspec.Struct, frozen=True):
    """What is to be done: who leaves, what is remarked, and what stands in the way (then nobody leaves)."""

    pods: tuple[tuple[str, str], ...] = ()
    """Namespaces and names."""
    warnings: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()


def decide_departure(pods: Iterable[Mapping[str, Any]], options: DrainOptions) -> Departure:
    """
    >>> bare = {"metadata": {"namespace": "d", "name": "p"}, "spec": {}}
    >>> decide_departure([bare], DrainOptions()).obstacles
    ('cannot delete Pods that declare no controller (use --force to override): d/p',)
    """
    leaving: list[tuple[str, str]] = []
    warned: dict[str, list[str]] = {}
    held: dict[str, list[str]] = {}
    for pod in pods:
        metadata = pod["metadata"]
        where = f"{metadata['namespace']}/{metadata['name']}"
        has_ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        owner = next((one["kind"] for one in metadata.get("ownerReferences") or () if one.get("controller")), "")
        if MIRROR_POD_ANNOTATION in (metadata.get("annotations") or {}):
            continue
        if owner == "DaemonSet" and not has_ended:
            if options.ignores_daemon_sets:
                warned.setdefault("ignoring DaemonSet-managed Pods", []).append(where)
            else:
                held.setdefault(_DAEMON_SETS, []).append(where)
            continue
        has_data = any("emptyDir" in volume for volume in pod["spec"].get("volumes") or ())
        if not has_ended and has_data and not options.deletes_empty_dirs:
            held.setdefault(_EMPTY_DIRS, []).append(where)
            continue
        if not has_ended and not owner:
            if not options.forces:
                held.setdefault(_UNMANAGED, []).append(where)
                continue
            warned.setdefault("deleting Pods that declare no controller", []).append(where)
        leaving.append((metadata["namespace"], metadata["name"]))
    obstacles = tuple(f"{reason}: {', '.join(names)}" for reason, names in held.items())
    return Departure(
        pods=() if obstacles else tuple(leaving),
        warnings=tuple(f"{reason}: {', '.join(names)}" for reason, names in warned.items()),
        obstacles=obstacles,
    )
