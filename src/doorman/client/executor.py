"""Carries actions out, one after another."""

from collections.abc import Iterable

from doorman.client.actions import Action, Bind, Create, Delete, Patch, RecordEvent, Renew, Update
from doorman.client.client import Client, Recorder, Renewer


class Executor:
    def __init__(self, client: Client, recorder: Recorder, renewer: Renewer | None = None) -> None:
        """`renewer`: for those whose actions renew leases."""
        self._client = client
        self._renewer = renewer
        self._recorder = recorder

    async def run(self, actions: Iterable[Action]) -> None:
        """The first that fails ends the list; its error is raised. Events never fail."""
        for action in actions:
            await self._run_one(action)

    async def _run_one(self, action: Action) -> None:
        match action:
            case RecordEvent():
                self._recorder.record(action)
            case Patch():
                await self._client.patch(action)
            case Delete():
                await self._client.delete(action)
            case Bind():
                await self._client.bind(action)
            case Create():
                await self._client.create(action)
            case Update():
                await self._client.update(action)
            case Renew():
                assert self._renewer is not None, "who renews leases is given a renewer"
                await self._renewer.renew(action)
            case _:
                raise AssertionError(f"no such action: {action}")
