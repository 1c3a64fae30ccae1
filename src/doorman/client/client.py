"""What a component may ask of an API server, in process or across the network."""

from typing import Any, Protocol

from doorman.base.errors import ApiError
from doorman.client.actions import Bind, Create, Delete, Patch, RecordEvent, Renew, Update


class Disconnected(ApiError):
    """Nobody answered, or the connection broke: whether a write was made is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(503, "ServiceUnavailable", message)


class Client(Protocol):
    """Every method returns when the write is durable, unless it is not waited for, and raises `ApiError` when it was
    refused.
    """

    async def create(self, action: Create) -> Any: ...  # the object: a document, or `Stored` in process

    async def update(self, action: Update) -> Any: ...

    async def patch(self, action: Patch) -> Any: ...

    async def delete(self, action: Delete) -> None: ...

    async def bind(self, action: Bind) -> None: ...


class Recorder(Protocol):
    """Who takes what components have to tell."""

    def record(self, action: RecordEvent) -> None: ...


class Renewer(Protocol):
    """What the agent of many nodes asks besides."""

    async def renew(self, action: Renew) -> None:
        """Renew what can be renewed. A lease that cannot is left to its node's next turn."""
        ...
