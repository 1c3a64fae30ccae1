"""Patches of components that are written the short way: parts of an object's bytes are exchanged, the rest is not read.

What is not so simple is left for the long way, and so is everything that admission wants to see.
"""

from collections.abc import Callable

from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.kinds import Kind
from doorman.api.patch.field_paths import FieldWalker
from doorman.base.clock import Clock
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.commit import Committed, Committer, Proposed
from doorman.registry.fastpath.claim_patch import ClaimPatch, ClaimPatches
from doorman.registry.fastpath.object_bytes import ObjectBytes, object_bytes_of
from doorman.registry.fastpath.pod_status import StatusPatch, StatusPatches
from doorman.registry.fastpath.shortcuts import Shortcuts
from doorman.store.store_contract import Store

PreviewOf = Callable[[Stored], RequestPreview]
Write = Callable[[Stored, ObjectBytes], bool | None]
"""Changes the bytes. Whether they are changed; None when it takes the long way to say."""


class ShortPatches:
    def __init__(
        self,
        store: Store,
        cache: WatchCache,
        committer: Committer,
        shortcuts: Shortcuts,
        walker: FieldWalker,
        clock: Clock,
    ) -> None:
        self._store = store
        self._cache = cache
        self._committer = committer
        self._shortcuts = shortcuts
        self._clock = clock
        self._statuses = StatusPatches(walker)
        self._claims = ClaimPatches(walker)

    async def pod_status(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        patch: StatusPatch,
        caller: Caller,
        *,
        is_waited_for: bool = True,
    ) -> Stored | None:
        """None, and nothing is done, when it takes the long way.

        Who does not wait for it writes something else afterwards, and waits for that.
        """

        def preview(before: Stored) -> RequestPreview:
            return RequestPreview(
                user=caller.user,
                operation=Operation.UPDATE,
                subresource="status",
                node=before.view.spec.node_name,
                names_claims=patch.names_claims,
            )

        def write(before: Stored, pod_bytes: ObjectBytes) -> bool | None:
            return self._statuses.write(pod_bytes, before.view, patch, caller.manager, self._clock.now())

        return await self._write(kind, namespace, name, preview, write, caller, is_waited_for=is_waited_for)

    async def claim(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        patch: ClaimPatch,
        caller: Caller,
        *,
        is_waited_for: bool = True,
    ) -> Stored | None:
        """As above."""
        asked = RequestPreview(
            user=caller.user,
            operation=Operation.UPDATE,
            subresource=patch.subresource,
            allocates=patch.status is not None,
        )

        def write(_: Stored, claim_bytes: ObjectBytes) -> bool | None:
            return self._claims.write(claim_bytes, patch, caller.manager, self._clock.now())

        return await self._write(kind, namespace, name, lambda _: asked, write, caller, is_waited_for=is_waited_for)

    async def _write(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        preview: PreviewOf,
        write: Write,
        caller: Caller,
        *,
        is_waited_for: bool = True,
    ) -> Stored | None:
        key = kind.store_key(namespace, name)

        async def propose() -> Proposed | Stored | None:
            entry = self._store.peek(key)
            if entry is None:
                return None
            before = self._cache.stored(entry)
            if not self._shortcuts.may_skip_admission(kind, preview(before)):
                return None
            object_bytes = object_bytes_of(before)
            is_changed = write(before, object_bytes)
            if not is_changed:
                return None if is_changed is None else before
            return Proposed(entry.key, object_bytes.kept(), entry.revision)

        committed = await self._committer.commit(kind, name, propose, caller, key=key, is_waited_for=is_waited_for)
        if not isinstance(committed, Committed):
            return committed
        event = committed.event
        assert event is not None, "components make no dry runs"
        assert event.entry is not None, "and what they patch stays"
        return self._cache.stored(event.entry)
