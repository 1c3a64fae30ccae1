"""Manifests: read from text, and applied with server-side apply."""

from collections.abc import Iterator
from typing import Final

import yaml

from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.command_line.api_client import ApiClient
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource, resource_of_kind

FIELD_MANAGER: Final = "doorman"
_APPLY: Final = "application/apply-patch+yaml"


class ManifestError(ValueError):
    """What cannot be read, or holds something else than manifests. The hint may be empty."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def parse_manifests(text: str, source: str) -> list[Document]:
    """Every object in a text of YAML or JSON; lists are taken apart. Raises ManifestError, which names the source."""
    try:
        loaded = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise ManifestError(f"error parsing {source}: {' '.join(str(error).split())}", "is it YAML or JSON?") from error
    return [one for document in loaded if document is not None for one in _objects(document, source)]


def _objects(document: object, source: str) -> Iterator[Document]:
    if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
        raise ManifestError(f"{source} holds something without kind and apiVersion", "is it a manifest?")
    items = document["items"] if str(document["kind"]).endswith("List") and "items" in document else [document]
    for one in items if isinstance(items, list) else [items]:
        if not isinstance(one, dict):
            raise ManifestError(f"{source} holds a list of something else than objects", "is it a manifest?")
        yield one


class Applied:
    """What became of a manifest."""

    def __init__(self, resource: ServedResource, before: Document | None, after: Document) -> None:
        self.resource = resource
        self.after = after
        if before is None:
            self.verb = "created"
        else:
            self.verb = "unchanged" if _wishes(after) == _wishes(before) else "configured"


def apply_manifest(
    client: ApiClient,
    manifest: Document,
    *,
    namespace: str = "",
    force: bool = False,
    dry_run: bool = False,
    manager: str = FIELD_MANAGER,
) -> Applied:
    """Create what is not there, change what is. Raises ApiError and NoSuchResource."""
    resource = resource_of_kind(client, manifest["apiVersion"], manifest["kind"])
    metadata = manifest.get("metadata") or {}
    name = metadata.get("name", "")
    if not name:
        raise NoSuchResource("error: resource name may not be empty")
    space = (namespace or metadata.get("namespace") or client.namespace) if resource.namespaced else ""
    path = resource.path(space, name)
    try:
        before = client.request("GET", path)
    except ApiError as error:
        if error.code != 404:
            raise
        before = None
    query = {"fieldManager": manager, "force": "true" if force else "false", "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    answer = client.request("PATCH", path, query=query, body=manifest, content_type=_APPLY)
    return Applied(resource, before, answer)


def _wishes(doc: Document) -> Document:
    """What people ask for in an object; status and bookkeeping change without them."""
    kept = ("labels", "annotations", "finalizers", "ownerReferences")
    metadata = {name: value for name, value in doc["metadata"].items() if name in kept}
    return {**{name: value for name, value in doc.items() if name != "status"}, "metadata": metadata}
