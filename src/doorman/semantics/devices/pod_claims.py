"""Which claims are a pod's, by its spec and its status.

Rules
-----
1. An entry of `spec.resourceClaims` names a claim, or a template from which one is made for the pod.
2. The claim made from a template is named in `status.resourceClaimStatuses`. No entry there: it is not made yet. An
   entry without a name: none is needed.
3. A claim made from a template must be controlled by the very pod.
4. A claim is reserved for a pod when the pod's uid is in `status.reservedFor`.
5. A pod that has ended, or is being deleted without ever having got a node, needs its claims no longer.
"""

from collections.abc import Iterator

import msgspec

from doorman.api.views.meta import controller_of
from doorman.api.views.pods import Pod, PodResourceClaim
from doorman.api.views.resource.resource_claims import ResourceClaim


class ClaimReference(msgspec.Struct, frozen=True):
    entry: str
    """The entry's name in the pod's spec."""
    name: str
    """The claim's; empty when the entry needs none."""
    is_generated: bool
    """From a template: the claim must be the pod's own."""


class NoClaimYet(Exception):
    """The pod's claim cannot be told (rule 2); the text is Kubernetes' own."""


def claim_reference(pod: Pod, entry: PodResourceClaim) -> ClaimReference:
    """Rules 1 and 2. Raises NoClaimYet.

    >>> pod = Pod()
    >>> claim_reference(pod, PodResourceClaim(name="gpu", resource_claim_name="shared")).name
    'shared'
    """
    if entry.resource_claim_name:
        return ClaimReference(entry.name, entry.resource_claim_name, is_generated=False)
    if entry.resource_claim_template_name:
        for status in pod.status.resource_claim_statuses:
            if status.name == entry.name:
                return ClaimReference(entry.name, status.resource_claim_name or "", is_generated=True)
    who = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if not entry.resource_claim_template_name:
        raise NoClaimYet(f'{who}, spec.resourceClaim "{entry.name}": none of the supported fields are set')
    raise NoClaimYet(f"{who}: ResourceClaim not created yet")


def known_references(pod: Pod) -> Iterator[ClaimReference]:
    """Those of the pod's claims that can be told and are needed."""
    for entry in pod.spec.resource_claims:
        try:
            reference = claim_reference(pod, entry)
        except NoClaimYet:
            continue
        if reference.name:
            yield reference


def claim_keys_of(pod: Pod) -> tuple[str, ...]:
    """`namespace/name` of the claims that the pod uses, as far as they are known: an index of pods."""
    if not pod.spec.resource_claims:
        return ()
    return tuple(dict.fromkeys(f"{pod.metadata.namespace}/{one.name}" for one in known_references(pod)))


def is_made_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Rule 3."""
    owner = controller_of(claim.metadata)
    return owner is not None and owner.uid == pod.metadata.uid and claim.metadata.namespace == pod.metadata.namespace


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Rule 4."""
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for)


def is_done(pod: Pod) -> bool:
    """Rule 5."""
    return pod.is_finished or bool(pod.metadata.deletion_timestamp and not pod.spec.node_name)


def consumer_of(pod: Pod) -> dict[str, str]:
    """The pod in `status.reservedFor`."""
    return {"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid}
