"""Renewals of node leases, many in one write.

A lease in order changes in two places when its node renews it: `renewTime`, and the time of the one entry of
managedFields. So the new bytes are the kept ones with two times exchanged; where they are is found once, and again only
when somebody else has written the lease. A thousand nodes renew a hundred leases a second, all day: this is what
makes that cost little.

Whatever is not so simple takes the long way, through the registry: a lease that others write too, or one that webhooks
or policies want to see. Both ways give the same bytes.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.identity import User
from doorman.api.well_known import KUBELET, LEASES, NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.instants import to_micro_time, to_time
from doorman.registry.cache.object_reader import ObjectReader
from doorman.registry.commit import Committer, Proposed
from doorman.registry.fastpath.shortcuts import Shortcuts
from doorman.store.store_contract import Entry

GONE_MIN: Final = 64
"""Fewer leases that are gone are not worth looking for."""

_RENEWED: Final = b'"renewTime":"'
_MANAGED_AT: Final = b'"time":"'


class _ManagedEntry(msgspec.Struct, rename="camel"):
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields_v1: dict[str, dict[str, object]] = msgspec.field(default={}, name="fieldsV1")


class _Metadata(msgspec.Struct, rename="camel"):
    managed_fields: list[_ManagedEntry] = []
    deletion_timestamp: str = ""


class _Lease(msgspec.Struct):
    metadata: _Metadata


class _Form:
    """The bytes around the two times of a lease, as of a revision."""

    __slots__ = ("between", "head", "revision", "tail")

    def __init__(self, revision: int, head: bytes, between: bytes, tail: bytes) -> None:
        self.revision = revision
        self.head = head
        self.between = between
        self.tail = tail


class LeaseRenewals:
    def __init__(self, reader: ObjectReader, committer: Committer, shortcuts: Shortcuts) -> None:
        self._reader = reader
        self._committer = committer
        self._shortcuts = shortcuts
        self._kind = reader.kinds.named(LEASES)
        self._leases = reader.collection(self._kind)
        self._forms: dict[str, _Form] = {}

    async def renew(self, kubelets: Mapping[str, User], at: Instant) -> list[str]:
        """Renew the leases of these nodes, by name; gives those that must take the long way."""
        managed_at, renewed = to_time(at).encode(), to_micro_time(at).encode()
        others: list[str] = []
        forms: list[_Form] = []
        proposals: list[Proposed] = []
        for node, user in kubelets.items():
            key = f"{LEASES}/{NODE_LEASE_NAMESPACE}/{node}"
            entry = self._reader.newest_entry(key)
            form = self._form(node, entry)
            preview = RequestPreview(user=user, operation=Operation.UPDATE, node=node)
            if form is None or entry is None or not self._shortcuts.may_skip_admission(self._kind, preview):
                others.append(node)
                continue
            value = b"".join((form.head, managed_at, form.between, renewed, form.tail))
            proposals.append(Proposed(key, value, entry.revision))
            forms.append(form)
        for form, proposed, event in zip(
            forms, proposals, await self._committer.commit_together(proposals), strict=True
        ):
            if event is None:
                others.append(proposed.key.rpartition("/")[2])
            else:
                form.revision = event.revision
        return others

    def _form(self, node: str, entry: Entry | None) -> _Form | None:
        known = self._forms.get(node)
        if known is not None and entry is not None and known.revision == entry.revision:
            return known
        found = _form_of(entry) if entry is not None else None
        if found is not None:
            if known is None:
                self._forget_those_gone()
            self._forms[node] = found
        else:
            self._forms.pop(node, None)
        return found

    def _forget_those_gone(self) -> None:
        """Nodes that are gone renew nothing any more, so nothing else would find their forms."""
        if len(self._forms) >= 2 * len(self._leases.objects) + GONE_MIN:
            leases = self._leases
            self._forms = {
                node: form
                for node, form in self._forms.items()
                if leases.get(f"{NODE_LEASE_NAMESPACE}/{node}") is not None
            }


def _form_of(entry: Entry) -> _Form | None:
    """Where the times of a lease are, if the kubelet is the only one who has ever written it."""
    value = entry.value
    if value.count(_RENEWED) != 1 or value.count(_MANAGED_AT) != 1:
        return None
    try:
        metadata = msgspec.json.decode(b'{"metadata":{' + value, type=_Lease).metadata
    except (msgspec.MsgspecError, ValueError):
        return None  # the long way says what is wrong with it
    if metadata.deletion_timestamp or len(metadata.managed_fields) != 1:
        return None
    owner = metadata.managed_fields[0]
    if (owner.manager, owner.operation, owner.subresource) != (KUBELET, "Update", ""):
        return None
    if "f:renewTime" not in owner.fields_v1.get("f:spec", {}):
        return None
    managed_at = value.index(_MANAGED_AT) + len(_MANAGED_AT)
    renewed = value.index(_RENEWED) + len(_RENEWED)
    if managed_at > renewed:
        return None
    managed_end, renewed_end = value.index(b'"', managed_at), value.index(b'"', renewed)
    return _Form(entry.revision, value[:managed_at], value[managed_end:renewed], value[renewed_end:])
