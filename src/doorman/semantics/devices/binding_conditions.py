"""Devices that must be got ready before a pod can be bound: conditions that their driver reports in the claim's status.

Rules
-----
1. A device without binding conditions is ready.
2. A failure condition that is True means that it never will be.
3. It is ready when all its binding conditions are True; as long as the driver has not reported, it is not. Nor is a
   claim that has not been seen allocated.

>>> is_ready(ResourceClaim())
False
"""

from doorman.api.views.meta import Condition
from doorman.api.views.resource.resource_claims import AllocatedDevice, ResourceClaim


class BindingFailed(Exception):
    """The text is Kubernetes' own."""


def is_ready(claim: ResourceClaim) -> bool:
    """Rules 1 to 3. Raises BindingFailed."""
    if claim.status.allocation is None:
        return False
    for result in claim.status.allocation.devices.results:
        if not result.binding_conditions:
            continue
        conditions = _reported(claim, result)
        for type_ in result.binding_failure_conditions:
            failed = conditions.get(type_)
            if failed is not None and failed.status == "True":
                said = f'reason={failed.reason}, message="{failed.message}"'
                raise BindingFailed(f"device binding failed: claim={claim.metadata.name}, {said}")
        for type_ in result.binding_conditions:
            found = conditions.get(type_)
            if found is None or found.status != "True":
                return False
    return True


def _reported(claim: ResourceClaim, result: AllocatedDevice) -> dict[str, Condition]:
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device, status.share_id) == (*result.id, result.share_id):
            return {condition.type: condition for condition in status.conditions}
    return {}
