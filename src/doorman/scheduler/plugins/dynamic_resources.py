"""DynamicResources: a pod goes where its claims have devices, or can be given some.

At which points it has a say:

    PreEnqueue   the pod's claims must exist
    PreFilter    classes must exist; a claim that is being allocated for somebody else is waited for
    Filter       claims that have devices must be usable on the node, and for the others there must be devices
    PostFilter   a claim that keeps the pod from every node, and that nobody uses, is given up
    Score        the earlier of alternative requests, the better
    Reserve      the devices are taken; `ClaimBinding` says what is to be written before the pod is bound
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.config.scheduler_config import BINDING_TIMEOUT_SECONDS
from doorman.scheduler.devices.allocation.allocation_result import allocated_devices, allocation_document
from doorman.scheduler.devices.claim_binding import ClaimBinding
from doorman.scheduler.devices.device_fits import FIRST_FAILURE, NOT_AVAILABLE, REASONS, DeviceFits, KeptFits
from doorman.scheduler.devices.device_objections import device_objections
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.devices.extended_requests import ExtendedRequests, claim_manifest
from doorman.scheduler.devices.pod_device_claims import (
    ClaimsNotReady,
    ExtendedOnNode,
    PodDeviceClaims,
    claims_of,
    pod_device_claims,
)
from doorman.scheduler.framework import (
    SCORE_MAX,
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    NodeScorer,
    PreFilterReject,
    always,
)
from doorman.semantics.devices.pod_claims import is_reserved_for
from doorman.semantics.pods.node_selectors import term_matches


class DynamicResources:
    name = "DynamicResources"

    def __init__(
        self,
        state: DeviceState,
        cluster: ClusterState,
        *,
        binding_timeout_seconds: float = BINDING_TIMEOUT_SECONDS,
    ) -> None:
        self._state = state
        self._timeout_seconds = binding_timeout_seconds
        self._cluster = cluster
        self._fits = KeptFits(state, cluster)
        self._looked_up: _LookedUp | None = None

    def concerns(self, pod: Pod) -> bool:
        """Whether devices have a say in where the pod goes."""
        return bool(pod.spec.resource_claims) or (bool(self._cluster.delegated) and self._claims_of(pod) is not None)

    def waits(self, pod: Pod) -> str:
        if not pod.spec.resource_claims:
            return ""
        try:
            claims_of(pod, self._state)
        except ClaimsNotReady as error:
            return str(error)
        return ""

    def filter_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeFilter | PreFilterReject | None:
        if not self.concerns(pod):
            return None
        claims = self._claims_of(pod)
        if claims is None or isinstance(claims, PreFilterReject):
            return claims
        return _Filter(self._state, cluster, claims, self._fits_of(claims))

    def scorer_for_pod(self, pod: Pod, _cluster: ClusterState) -> NodeScorer | None:
        if not pod.spec.resource_claims:
            return None
        claims = self._claims_of(pod)
        if not isinstance(claims, PodDeviceClaims):
            return None
        fits = self._fits_of(claims)
        return _Scorer(fits) if fits is not None and fits.scores.any() else None

    def hints(self) -> Sequence[Hint]:
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        claim_changes = ActionType.ADD | ActionType.UPDATE_OTHER | ActionType.DELETE
        return (
            Hint(EventResource.NODE, node_changes, always),
            Hint(EventResource.RESOURCE_CLAIM, claim_changes, always, self._is_claim_worth_a_try),
            Hint(EventResource.TARGET_POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, always, self._is_ready),
            Hint(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE_OTHER, always),
            Hint(EventResource.RESOURCE_SLICE, ActionType.ADD | ActionType.UPDATE_OTHER, always),
        )

    def reserve(self, pod: Pod, row: int) -> tuple[ClaimBinding, ...]:
        """Take the devices on the chosen node. Raises AllocationError should there be none after all."""
        if not self.concerns(pod):
            return ()
        claims = self._claims_of(pod)
        if not isinstance(claims, PodDeviceClaims):
            return ()
        seconds = self._timeout_seconds
        bindings = [
            ClaimBinding(claim=claim, timeout_seconds=seconds)
            for claim in claims.allocated
            if not is_reserved_for(claim, pod)
        ]
        fits = self._fits_of(claims)
        allocations = fits.allocate(row) if fits is not None else None
        node = self._cluster.node(row)
        extended = self._extended_on(claims, row)
        for allocation in allocations or ():
            claim, document = allocation.claim, allocation_document(allocation, node)
            self._state.reserve(claim, pod.metadata.key, allocated_devices(document))
            if extended is not None and claim not in claims.unallocated:
                manifest = claim_manifest(pod, extended.requests)
                mappings = extended.mappings
                binding = ClaimBinding(
                    claim=claim, allocation=document, manifest=manifest, mappings=mappings, timeout_seconds=seconds
                )
            else:
                binding = ClaimBinding(claim=claim, allocation=document, timeout_seconds=seconds)
            bindings.append(binding)
        return tuple(bindings)

    def claim_to_give_up(self, pod: Pod, is_rejecting: Callable[[int], bool]) -> ResourceClaim | None:
        """PostFilter: a claim that nobody else uses and that is not usable on a node that was rejected for it, or the
        claim that an earlier attempt has left. `is_rejecting`: whether a node, by its row, was rejected by this plugin.
        """
        if not self.concerns(pod):
            return None
        claims = self._claims_of(pod)
        if not isinstance(claims, PodDeviceClaims):
            return None
        rejected = [row for row in map(int, self._cluster.rows_in_order()) if is_rejecting(row)]
        for claim in claims.allocated:
            users = claim.status.reserved_for
            is_free = not users or (len(users) == 1 and users[0].uid == pod.metadata.uid)
            if is_free and any(not is_usable_on(claim, self._cluster.node(row)) for row in rejected):
                return claim
        return claims.extended.stale if claims.extended is not None else None

    def _claims_of(self, pod: Pod) -> PodDeviceClaims | PreFilterReject | None:
        """Several points ask in one attempt, during which nothing changes."""
        known = self._looked_up
        if known is None or known.pod is not pod or known.version != self._state.version:
            claims = pod_device_claims(pod, self._state)
            known = self._looked_up = _LookedUp(pod, self._state.version, claims)
        return known.claims

    def _fits_of(self, claims: PodDeviceClaims) -> DeviceFits | None:
        if not claims.unallocated and claims.extended is None:
            return None
        return self._fits.get(claims.key, partial(claims.on_node, self._state, self._cluster))

    def _extended_on(self, claims: PodDeviceClaims, row: int) -> ExtendedRequests | None:
        made = claims.extended_on(self._state, self._cluster, row) if claims.extended is not None else None
        return made.requests if isinstance(made, ExtendedOnNode) else None

    def _is_ready(self, _pod: Pod, event: ClusterEvent) -> bool:
        return not self.waits(event.new)

    def _is_claim_worth_a_try(self, pod: Pod, event: ClusterEvent) -> bool:
        old: ResourceClaim | None = event.old
        new: ResourceClaim | None = event.new
        if new is None:
            return old is not None and old.status.allocation is not None
        try:
            uses_it = any(claim.metadata.uid == new.metadata.uid for claim in claims_of(pod, self._state))
        except ClaimsNotReady:
            return False
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return True
        return uses_it and (old is None or old.status != new.status)


def is_usable_on(claim: ResourceClaim, node: Node) -> bool:
    """Whether what the claim was given can be used from there."""
    allocation = claim.status.allocation
    if allocation is None or allocation.node_selector is None:
        return True
    meta = node.metadata
    return any(term_matches(term, meta.labels, meta.name) for term in allocation.node_selector.node_selector_terms)


class _LookedUp(msgspec.Struct, frozen=True, gc=False):
    """A pod's claims, as of a version of what is known of devices."""

    pod: Pod
    version: int
    claims: PodDeviceClaims | PreFilterReject | None


class _Filter:
    def __init__(
        self, state: DeviceState, cluster: ClusterState, claims: PodDeviceClaims, fits: DeviceFits | None
    ) -> None:
        self._state = state
        self._cluster = cluster
        self._claims = claims
        self._fits = fits
        self._codes = self._all_codes()

    @property
    def failures(self) -> Mapping[int, str]:
        """By code, in words about this pod's own claims. Where there is one the pod is given up."""
        return _Failures(self._fits, self._codes, self._cluster) if self._fits is not None else {}

    def codes(self, rows: Rows) -> Column:
        found: Column = self._codes[rows]
        return found

    def reasons(self, code: int) -> Sequence[str]:
        return (REASONS[code],) if code in REASONS else (self.failures[code],)

    def details(self, row: int) -> Sequence[Detail]:
        code = int(self._codes[row])
        if not code:
            return ()
        node = self._cluster.node(row)
        reason = self.reasons(code)[0]
        if code == NOT_AVAILABLE:
            what = [
                f"claim {claim.metadata.name} has devices that this node cannot reach"
                for claim in self._claims.allocated
                if not is_usable_on(claim, node)
            ]
        elif code < FIRST_FAILURE and self._fits is not None:
            claims = self._claims.on_node(self._state, self._cluster, row)
            what = [] if isinstance(claims, int) else device_objections(claims, node, self._state)
        else:
            what = []
        return tuple(Detail(reason=reason, what=each) for each in what) or (Detail(reason=reason),)

    def _all_codes(self) -> Column:
        cluster = self._cluster
        codes: Column = self._fits.codes if self._fits is not None else np.zeros(cluster.size, dtype=np.int64)
        bound = [claim for claim in self._claims.allocated if _selector_of(claim) is not None]
        if not bound:
            return codes
        codes = codes.copy()
        for row in map(int, cluster.rows_in_order()):
            if not codes[row] and not all(is_usable_on(claim, cluster.node(row)) for claim in bound):
                codes[row] = NOT_AVAILABLE
        return codes


class _Failures(Mapping[int, str]):
    """Put into words when somebody asks: it may take a search."""

    def __init__(self, fits: DeviceFits, codes: Column, cluster: ClusterState) -> None:
        self._fits = fits
        self._codes = codes
        self._cluster = cluster

    def __iter__(self) -> Iterator[int]:
        return iter(self._fits.failures)

    def __len__(self) -> int:
        return len(self._fits.failures)

    def __getitem__(self, code: int) -> str:
        rows = map(int, np.flatnonzero(self._codes == code))
        row = next((row for row in rows if self._cluster.nodes[row] is not None), None)
        return self._fits.failure_on(row) if row is not None else self._fits.failures[code]


class _Scorer:
    """The best node has 100."""

    def __init__(self, fits: DeviceFits) -> None:
        self._fits = fits

    def raw(self, rows: Rows) -> Column:
        found: Column = self._fits.scores[rows]
        return found

    def summary(self, raw: Column) -> int:
        return int(raw.max())

    def normalised(self, raw: Column, summary: int) -> Column:
        return raw * 0 if summary == 0 else SCORE_MAX * raw // summary


def _selector_of(claim: ResourceClaim) -> object:
    return claim.status.allocation.node_selector if claim.status.allocation is not None else None
