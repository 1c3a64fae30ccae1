"""Leases."""

from typing import Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_STRATEGIES: Final = ("OldestEmulationVersion",)


def validate_lease_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    spec = doc.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    strategy = spec.get("strategy")
    if strategy is not None:
        errors.extend(strategy_errors(strategy, "spec.strategy"))
    if spec.get("preferredHolder") and not strategy:
        errors.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors


def strategy_errors(strategy: str, path: str) -> list[FieldError]:
    """One of Kubernetes' own, or somebody else's with a domain."""
    at = f"{path}.strategy"
    if "/" in strategy:
        return [invalid(at, strategy, fault) for fault in qualified_name_faults(strategy)]
    return [] if strategy in _STRATEGIES else [not_supported(at, JsonText(strategy), _STRATEGIES)]


def validate_lease_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    return distinct([*validate_metadata_update(new, old), *validate_lease_create(new, context)])
