"""Discovery: which groups, versions and resources there are. Long documents are made once an edition of the kinds."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from doorman.api.kinds import Kind, Kinds, Subresource
from doorman.api.well_known import AGGREGATED_DISCOVERY
from doorman.server.codec.negotiation import wants_aggregated_discovery
from doorman.server.request import Request, Response, json_response


class Discovery:
    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self._bytes = lru_cache(maxsize=4)(self._encoded)

    def answer(self, request: Request) -> Response | None:
        """The document at this path, or None when it is no discovery path."""
        parts = request.path.strip("/").split("/")
        if parts[0] not in ("api", "apis") or len(parts) > 3:
            return None
        if len(parts) == 1:
            if wants_aggregated_discovery(request.headers.get("accept", "")):
                return self._aggregated(parts[0], request)
            address = request.headers.get("host", "")
            return json_response(self._versions(address) if parts[0] == "api" else self._groups())
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2] if len(parts) == 3 else "")
        if parts[0] == "api" and len(parts) != 2:
            return None
        if not version:
            found = self._group(group)
            return json_response({"kind": "APIGroup", "apiVersion": "v1", **found}) if found else None
        rows = self.kinds.in_version(group, version)
        return json_response(self._resources(rows)) if rows else None

    def has_version(self, group: str, version: str) -> bool:
        return bool(self.kinds.in_version(group, version))

    def paths(self) -> list[str]:
        out = ["/api", "/api/v1", "/apis"]
        for group, versions in self.kinds.group_versions().items():
            if group:
                out += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
        return sorted([*out, "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"])

    def _versions(self, address: str) -> dict[str, Any]:
        reach = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": reach}

    def _groups(self) -> dict[str, Any]:
        groups = [self._group(group) for group in self.kinds.group_versions() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _group(self, group: str) -> dict[str, Any] | None:
        versions = self.kinds.group_versions().get(group)
        if not versions or not group:
            return None
        rows = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
        return {"name": group, "versions": rows, "preferredVersion": rows[0]}

    def _resources(self, rows: list[Kind]) -> dict[str, Any]:
        first = rows[0]
        out: dict[str, Any] = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": first.group_version}
        if not first.group:
            del out["apiVersion"]
        resources: list[dict[str, Any]] = []
        for row in sorted(rows, key=lambda r: r.resource):
            resources.append(_resource(row))
            resources += [_subresource(row, sub) for sub in _in_order(row)]
        out["resources"] = resources
        return out

    def _aggregated(self, root: str, request: Request) -> Response:
        status, (body, etag) = 200, self._bytes(root, self.kinds.edition)
        headers = [("ETag", f'"{etag}"'), ("Vary", "Accept")]
        if request.headers.get("if-none-match") == f'"{etag}"':
            body, status = b"", 304
        return Response(
            status=status, content_type=AGGREGATED_DISCOVERY, headers=headers, cache_control="public", body=body
        )

    def _encoded(self, root: str, edition: int) -> tuple[bytes, str]:  # noqa: ARG002  a key of the cache
        items = []
        for group, versions in self.kinds.group_versions().items():
            if bool(group) is (root == "apis"):
                rows = [
                    {
                        "version": version,
                        "resources": [_aggregated_resource(row) for row in self.kinds.in_version(group, version)],
                        "freshness": "Current",
                    }
                    for version in versions
                ]
                items.append({"metadata": {"name": group} if group else {}, "versions": rows})
        body = msgspec.json.encode(
            {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
        )
        return body, hashlib.sha512(body).hexdigest().upper()


def _resource(row: Kind) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": row.resource,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": _verbs(row),
    }
    if row.short_names:
        out["shortNames"] = list(row.short_names)
    if row.categories:
        out["categories"] = list(row.categories)
    if row.storage_version_hash:
        out["storageVersionHash"] = row.storage_version_hash
    return out


def _verbs(row: Kind) -> list[str]:
    return list(row.verbs) if row.is_custom else sorted(row.verbs)


def _in_order(row: Kind) -> Sequence[Subresource]:
    """By name; of a custom kind as its definition has them."""
    return row.subresources if row.is_custom else sorted(row.subresources, key=lambda sub: sub.name)


def _subresource(row: Kind, sub: Subresource) -> dict[str, Any]:
    out: dict[str, Any] = {"name": f"{row.resource}/{sub.name}", "singularName": "", "namespaced": row.namespaced}
    if sub.version and (sub.group, sub.version) != (row.group, row.version):
        out["group"], out["version"] = sub.group, sub.version
    return {**out, "kind": sub.kind, "verbs": sorted(sub.verbs)}


def _response_kind(row: Kind, kind: str, group: str = "", version: str = "") -> dict[str, str]:
    """Of built-in kinds it says nothing of the group and the version in which it stands; custom ones say them."""
    if not version and row.is_custom:
        group, version = row.group, row.version
    return {"group": group, "version": version, "kind": kind}


def _aggregated_resource(row: Kind) -> dict[str, Any]:
    out: dict[str, Any] = {
        "resource": row.resource,
        "responseKind": _response_kind(row, row.kind),
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": _verbs(row),
    }
    if row.short_names:
        out["shortNames"] = list(row.short_names)
    if row.categories:
        out["categories"] = list(row.categories)
    if row.subresources:
        out["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(row, sub.kind, sub.group, sub.version),
                "verbs": sorted(sub.verbs),
            }
            for sub in _in_order(row)
        ]
    return out
