"""Warnings of files in a volume that would be at the same place, or one below the other.

Of the volumes that are made of named items: config maps, secrets, facts of the pod, and projections of several sources.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from doorman.base.go_format import quote
from doorman.validation.faults import Part

Item = tuple[str, str]
"""A path, and what it is from; empty where there is one source only."""

_CERTIFICATE_PATHS: Final = (
    ("credentialBundlePath", "PodCertificate credential bundle"),
    ("certificateChainPath", "PodCertificate chain"),
    ("keyPath", "PodCertificate key"),
)


def volume_path_warnings(volumes: Sequence[Part]) -> list[str]:
    """
    >>> items = [{"key": "k", "path": "a"}, {"key": "l", "path": "a/b"}]
    >>> volume_path_warnings([{"name": "v", "configMap": {"name": "m", "items": items}}])
    ['volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"']
    """
    return [warning for volume in volumes for warning in _of_volume(volume)]


def _of_volume(volume: Part) -> Iterator[str]:
    name = f"volume {quote(volume.get('name') or '')}"
    for source, paths in _sources(volume, named_by="secretName"):
        yield from _overlaps(f"{name} ({source})", [(path, "") for path in paths])
    sources: Sequence[Part] = (volume.get("projected") or {}).get("sources") or ()
    yield from (f"{name} (Projected) has no sources provided" for source in sources if not source)
    items = [(path, of) for source in sources for of, paths in _projected(source) for path in paths]
    yield from _overlaps(f"{name} (Projected)", items)


def _sources(volume: Part, *, named_by: str) -> Iterator[tuple[str, list[str]]]:
    if (found := volume.get("configMap")) is not None:
        yield f"ConfigMap {quote(found.get('name') or '')}", _paths(found)
    if (found := volume.get("secret")) is not None:
        yield f"Secret {quote(found.get(named_by) or '')}", _paths(found)
    if (found := volume.get("downwardAPI")) is not None:
        yield "DownwardAPI", _paths(found)


def _projected(source: Part) -> Iterator[tuple[str, list[str]]]:
    yield from _sources(source, named_by="name")
    if (found := source.get("serviceAccountToken")) is not None:
        yield "ServiceAccountToken", [found.get("path") or ""]
    if (found := source.get("clusterTrustBundle")) is not None:
        whose = quote(found.get("name") or found.get("signerName") or "")
        yield f"ClusterTrustBundle {whose}", [found.get("path") or ""]
    if (found := source.get("podCertificate")) is not None:
        yield from ((what, [path]) for member, what in _CERTIFICATE_PATHS if (path := found.get(member)))


def _paths(source: Part) -> list[str]:
    return [item.get("path") or "" for item in source.get("items") or ()]


def _overlaps(where: str, items: Sequence[Item]) -> list[str]:
    """Each item against those before it, in their order; alike ones once.

    Sorted with a slash at the end, what is below a path comes right after it: so nobody is compared with everybody.
    """
    places: dict[Item, list[int]] = {}
    for index, (path, source) in enumerate(items):
        places.setdefault((path.rstrip("/"), source), []).append(index)
    found: list[tuple[int, int, Item, Item]] = []
    above: list[Item] = []
    for item in sorted(places, key=lambda item: f"{item[0]}/"):
        while above and not f"{item[0]}/".startswith(f"{above[-1][0]}/"):
            above.pop()
        for other in above:
            found += [*_later(places, item, other), *_later(places, other, item)]
        found += _later(places, item, item)
        above.append(item)
    return [f"{where}: overlapping paths: {_told(one)} with {_told(other)}" for _, _, one, other in sorted(found)]


def _later(places: Mapping[Item, list[int]], one: Item, other: Item) -> Iterator[tuple[int, int, Item, Item]]:
    """Where `one` first comes after `other`."""
    first = places[other][0]
    later = next((index for index in places[one] if index > first), None)
    if later is not None:
        yield later, first, one, other


def _told(item: Item) -> str:
    path, source = item
    return f"{quote(path)} ({source})" if source else quote(path)
