"""Patches of components that are written the short way: parts of an object's bytes are exchanged, the rest is not read.

What is not so simple is left for the long way, and so is everything that admission wants to see.
"""

from collections.abc import Callable, Mapping
from typing import Final

from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.kinds import Kind
from doorman.api.patch.field_paths import FieldWalker
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.api.well_known import PODS
from doorman.base.clock import Clock
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.commit import CommitResult, Committer, Proposed
from doorman.registry.fastpath.claim_patch import ClaimPatch, ClaimPatches, claim_patch_of
from doorman.registry.fastpath.object_bytes import ObjectBytes, object_bytes_of
from doorman.registry.fastpath.pod_status import StatusPatch, StatusPatches, applied_status_of, status_patch_of
from doorman.registry.fastpath.shortcuts import Shortcuts
from doorman.registry.patch_transforms import APPLY_PATCH, STRATEGIC_PATCH
from doorman.registry.write_target import WriteTarget
from doorman.store.store_contract import Store

ChangeBytes = Callable[[Stored, ObjectBytes], bool | None]
"""Changes the bytes. Whether they are changed; None when it takes the long way to say."""

_READ_STATUS: Final[Mapping[str, Callable[[Document], StatusPatch | None]]] = {
    STRATEGIC_PATCH: status_patch_of,
    APPLY_PATCH: applied_status_of,
}


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

    async def write(
        self, target: WriteTarget, patch_type: str, body: Document, caller: Caller, *, is_waited_for: bool = True
    ) -> Stored | None:
        """Write a patch of a component. None, and nothing is done, when it takes the long way.

        Who does not wait for it writes something else afterwards, and waits for that.
        """
        if target.kind.storage == PODS and target.subresource == "status":
            status_patch = _READ_STATUS[patch_type](body) if patch_type in _READ_STATUS else None
            return await self._pod_status(target, status_patch, caller, is_waited_for) if status_patch else None
        if target.kind.storage == CLAIMS and patch_type == STRATEGIC_PATCH:
            claim_patch = claim_patch_of(body, target.subresource)
            return await self._claim(target, claim_patch, caller, is_waited_for) if claim_patch else None
        return None

    def report(
        self, kind: Kind, before: Stored, pod_bytes: ObjectBytes, patch: StatusPatch, caller: Caller
    ) -> bool | None:
        """Put what is reported of a pod into its bytes. Whether that changes them; None when it takes the long way."""
        pod = before.view
        preview = RequestPreview(
            user=caller.user,
            operation=Operation.UPDATE,
            subresource="status",
            node=pod.spec.node_name,
            names_claims=patch.names_claims,
        )
        if not self._shortcuts.may_skip_admission(kind, preview):
            return None
        return self._statuses.write(pod_bytes, pod, patch, caller.manager, self._clock.now())

    async def _pod_status(
        self, target: WriteTarget, patch: StatusPatch, caller: Caller, is_waited_for: bool
    ) -> Stored | None:
        def change(before: Stored, pod_bytes: ObjectBytes) -> bool | None:
            return self.report(target.kind, before, pod_bytes, patch, caller)

        return await self._write(target, change, caller, is_waited_for=is_waited_for)

    async def _claim(
        self, target: WriteTarget, patch: ClaimPatch, caller: Caller, is_waited_for: bool
    ) -> Stored | None:
        asked = RequestPreview(
            user=caller.user,
            operation=Operation.UPDATE,
            subresource=patch.subresource,
            allocates=patch.status is not None,
        )

        def change(_: Stored, claim_bytes: ObjectBytes) -> bool | None:
            if not self._shortcuts.may_skip_admission(target.kind, asked):
                return None
            return self._claims.write(claim_bytes, patch, caller.manager, self._clock.now())

        return await self._write(target, change, caller, is_waited_for=is_waited_for)

    async def _write(
        self, target: WriteTarget, change: ChangeBytes, caller: Caller, *, is_waited_for: bool
    ) -> Stored | None:
        kind, key = target.kind, target.store_key

        async def propose() -> Proposed | Stored | None:
            entry = self._store.peek(key)
            if entry is None:
                return None
            before = self._cache.stored(entry)
            object_bytes = object_bytes_of(before)
            is_changed = change(before, object_bytes)
            if not is_changed:
                return None if is_changed is None else before
            return Proposed(entry.key, object_bytes.kept(), entry.revision)

        result = await self._committer.commit(kind, target.name, propose, caller, key=key, is_waited_for=is_waited_for)
        if not isinstance(result, CommitResult):
            return result
        event = result.event
        assert event is not None, "components make no dry runs"
        assert event.entry is not None, "and what they patch stays"
        return self._cache.stored(event.entry)
