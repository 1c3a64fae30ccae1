"""From what people type (`po`, `pods`, `deploy`) to a resource the server has: discovery, as kubectl does it."""

import difflib
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from doorman.api.well_known import AGGREGATED_DISCOVERY
from doorman.client.command_line.api_client import ApiClient


class ServedResource(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    version: str
    name: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def described(self) -> str:
        """`/v1, Resource=pods`: how kubectl names it where a list fails."""
        return f"{self.group}/{self.version}, Resource={self.name}"

    @property
    def qualified(self) -> str:
        """`pod`, `deployment.apps`: how kubectl names it in what it prints."""
        return f"{self.singular}.{self.group}" if self.group else self.singular

    def path(self, namespace: str = "", name: str = "") -> str:
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace:
            base += f"/namespaces/{namespace}"
        return f"{base}/{self.name}" + (f"/{name}" if name else "")


class NoSuchResource(Exception):
    """The server has nothing of that name."""


def resources(client: ApiClient) -> list[ServedResource]:
    """All of them, preferred versions first."""
    found: list[ServedResource] = []
    for root in ("/api", "/apis"):
        for group in client.request("GET", root, accept=AGGREGATED_DISCOVERY)["items"]:
            for version in group["versions"]:
                found += [
                    _resource(group["metadata"].get("name", ""), version["version"], r) for r in version["resources"]
                ]
    return found


def find_resources(client: ApiClient, typed: str) -> list[ServedResource]:
    """Those of a category (`all`), the first version of each; else the one that is meant."""
    _first(client, lambda resource: typed in resource.categories)
    members: dict[tuple[str, str], ServedResource] = {}
    for resource in _known[client]:
        if typed in resource.categories:
            members.setdefault((resource.group, resource.name), resource)
    return list(members.values()) or [find_resource(client, typed)]


def find_resource(client: ApiClient, typed: str) -> ServedResource:
    wanted, _, group = typed.lower().partition(".")

    def is_it(resource: ServedResource) -> bool:
        names = (resource.name, resource.singular, resource.kind.lower(), *resource.short_names)
        return wanted in names and group in ("", resource.group, f"{resource.version}.{resource.group}")

    found = _first(client, is_it)
    if found is not None:
        return found
    near = difflib.get_close_matches(wanted, sorted({resource.name for resource in _known[client]}), n=1)
    hint = f'\nhint: did you mean "{near[0]}"?' if near else ""
    raise NoSuchResource(f'the server doesn\'t have a resource type "{typed}"{hint}')


def resource_of_kind(client: ApiClient, api_version: str, kind: str) -> ServedResource:
    found = _first(client, lambda resource: resource.api_version == api_version and resource.kind == kind)
    if found is None:
        raise NoSuchResource(f'no matches for kind "{kind}" in version "{api_version}"')
    return found


_known: Final[WeakKeyDictionary[ApiClient, list[ServedResource]]] = WeakKeyDictionary()
"""What each client was told last."""


def _first(client: ApiClient, is_it: Callable[[ServedResource], bool]) -> ServedResource | None:
    """What is known is enough where it has it; else the server is asked again: a kind may have been defined since."""
    found = next(filter(is_it, _known.get(client, ())), None)
    if found is None:
        _known[client] = resources(client)
        found = next(filter(is_it, _known[client]), None)
    return found


def _resource(group: str, version: str, raw: dict[str, Any]) -> ServedResource:  # one entry of aggregated discovery
    return ServedResource(
        group=group,
        version=version,
        name=raw["resource"],
        singular=raw.get("singularResource", ""),
        kind=raw["responseKind"]["kind"],
        namespaced=raw["scope"] == "Namespaced",
        short_names=tuple(raw.get("shortNames", ())),
        categories=tuple(raw.get("categories", ())),
    )
