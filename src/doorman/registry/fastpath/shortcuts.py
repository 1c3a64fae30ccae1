"""The one place that decides whether a write may go without the long way through admission.

Shortcuts are of two sorts. A write of which admission has nothing to say, whatever is written, skips it: what
components report of a pod's status, a binding, an allocation, the mark of a deletion, the renewal of a lease. And what
became of a new object is good for the next one that is the same but for its name, as long as all that admission looked
up is unchanged. Switched off, every write goes the long way; a law in `tests/property` holds both to the same outcome.
"""

from collections.abc import Hashable, Sequence
from typing import Final

from doorman.admission.chain import Chain
from doorman.admission.plugin_contract import Attributes, RequestPreview
from doorman.admission.webhooks.webhook_dispatch import Webhooks
from doorman.api.kinds import Kind
from doorman.api.machinery.schema import Document
from doorman.api.views.admissionregistration import MUTATING, MUTATING_BINDINGS, MUTATING_POLICIES, VALIDATING
from doorman.registry.admission.admission_reader import AdmissionReader
from doorman.registry.caller import Caller
from doorman.registry.fastpath.create_cache import CachedClaim, CachedCreate, CreateCache, Reads

WEBHOOKS: Final = (MUTATING, VALIDATING, MUTATING_POLICIES, MUTATING_BINDINGS)
"""Kinds that say who else is to be asked about a write."""


class Shortcuts:
    def __init__(
        self,
        admission: Chain,
        webhooks: Webhooks,
        cluster: AdmissionReader,
        create_cache: CreateCache,
        *,
        is_on: bool = True,
    ) -> None:
        self._admission = admission
        self._webhooks = webhooks
        self._cluster = cluster
        self._create_cache = create_cache
        self._is_on = is_on

    def may_skip_admission(self, kind: Kind, preview: RequestPreview) -> bool:
        """Whether admission has nothing to say to such a write, whatever is written."""
        return (
            self._is_on
            and self._admission.is_idle(kind.group_resource, preview, self._cluster)
            and self._webhooks.is_idle(self._cluster)
        )

    def create_key(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> Hashable | None:
        """The same for new objects that become the same but for their name; None: this one is like no other."""
        if not self._is_on or caller.is_apply:
            return None
        return self._create_cache.key(kind, namespace, doc, caller.user, caller.manager)

    def known_create(self, key: Hashable) -> CachedCreate | CachedClaim | None:
        """What became of one with this key, if all that admission looked up for it is as it was."""
        return self._create_cache.find(key)

    def reads(self) -> Reads:
        """For admission of a new object: notes what is looked up, beginning with who else would be asked."""
        reads = Reads(self._cluster)
        for resource in WEBHOOKS:
            reads.list(resource)
        return reads

    def remember_create(
        self, kind: Kind, key: Hashable, doc: Document, reads: Reads, attributes: Attributes, warned: Sequence[str]
    ) -> None:
        """Keep what became of a new object, unless somebody decided by more than the key says, or had to warn."""
        if attributes.is_cacheable and not warned:
            self._create_cache.remember(kind, key, doc, reads, attributes.drawn)
