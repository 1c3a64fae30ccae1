"""What is to be written into a claim before its pod is bound.

>>> ClaimBinding(claim=ResourceClaim()).allocation is None  # it has devices: only the reservation is missing
True
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.config.scheduler_config import BINDING_TIMEOUT_SECONDS


class ClaimBinding(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written for one claim before its pod is bound."""

    claim: ResourceClaim
    """As it was seen; one that does not exist yet has no uid."""
    allocation: Mapping[str, Any] | None = None  # status.allocation as JSON
    """None: it has one already, only the reservation is missing."""
    manifest: Mapping[str, Any] | None = None
    """Of a claim that must be created first: the one for extended resources."""
    mappings: tuple[Mapping[str, str], ...] = ()
    """For `status.extendedResourceClaimStatus` of the pod."""
    timeout_seconds: float = BINDING_TIMEOUT_SECONDS
    """How long the pod waits for devices of a new allocation that must be got ready first."""
