"""A client without a connection: requests go to the pipeline as they would come from the front."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from doorman.client.command_line.api_client import error_of
from doorman.server.pipeline import Pipeline
from doorman.server.request import Query, Request
from doorman.testing.loop_thread import LoopThread


class PipelineClient:
    """An `ApiClient` as the administrator."""

    namespace = "default"

    def __init__(self, thread: LoopThread, pipeline: Pipeline, token: str) -> None:
        self._thread = thread
        self._pipeline = pipeline
        self._token = token

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
        headers = {"accept": accept, "user-agent": "doorman-testing", "authorization": f"Bearer {self._token}"}
        if body is not None:
            headers["content-type"] = content_type
        request = Request(
            method=method,
            path=path,
            query=Query(urlencode(query or {})),
            headers=headers,
            body=b"" if body is None else msgspec.json.encode(body),
            client="127.0.0.1",
        )
        status, content = self._thread.call(self._handle(request))
        if status >= 400:
            raise error_of(status, content)
        return msgspec.json.decode(content) if content else None

    async def _handle(self, request: Request) -> tuple[int, bytes]:
        response = await self._pipeline.handle(request)
        if response.stream is not None:
            response.stream.close()
            raise ValueError("a watch needs a connection: use the cluster's kubeconfig")
        return response.status, response.body if response.chunks is None else b"".join(response.chunks)
