"""What describers ask a cluster beyond the object they describe."""

from typing import Any

from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.cli.describe.description import Doc
from doorman.client.command_line.http_client import HttpClient


class RelatedObjects:
    def __init__(self, client: HttpClient) -> None:
        self._client = client

    def now(self) -> Instant:
        return self._client.now()

    def get(self, path: str) -> dict[str, Any]:
        """Raises ApiError."""
        found: dict[str, Any] = self._client.request("GET", path)
        return found

    def find(self, path: str) -> dict[str, Any] | None:
        """None: it is not there."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def items(self, path: str, **selectors: str) -> list[dict[str, Any]]:
        """Those of a list: `fieldSelector`, `labelSelector`."""
        found: list[dict[str, Any]] = self._client.request("GET", path, query=selectors)["items"]
        return found

    def owned(self, path: str, owner: Doc) -> list[dict[str, Any]]:
        """What an object controls, of one kind in its namespace."""
        metadata = owner["metadata"]
        return [
            item
            for item in self.items(path.format(metadata["namespace"]))
            for reference in item["metadata"].get("ownerReferences") or ()
            if reference.get("controller") and reference["uid"] == metadata["uid"]
        ]
