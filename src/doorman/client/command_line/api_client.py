"""Whoever sends requests to an API server, over HTTP or in process: what commands and tests are written against."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from doorman.base.errors import ApiError, Cause


class ApiClient(Protocol):
    @property
    def namespace(self) -> str:
        """Of objects that do not say."""
        ...

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,  # any JSON value
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Any:  # the answer, parsed
        """The parsed answer; a Status of failure is raised as the ApiError it was."""
        ...


def error_of(code: int, content: bytes) -> ApiError:
    """The error that a body of that status code says."""
    try:
        status = msgspec.json.decode(content)
        details = status.get("details") or {}
        causes = [
            Cause(reason=c.get("reason", ""), message=c.get("message", ""), field=c.get("field", ""))
            for c in details.get("causes", ())
        ]
        return ApiError(code, status.get("reason", ""), status.get("message", ""), details=details, causes=causes)
    except (msgspec.DecodeError, AttributeError):
        reason = {404: "NotFound"}.get(code, "")
        text = "the server could not find the requested resource" if code == 404 else content.decode(errors="replace")
        return ApiError(code, reason, text)
