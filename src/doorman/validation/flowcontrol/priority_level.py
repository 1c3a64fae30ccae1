"""PriorityLevelConfigurations: how many requests of a level are served at once, and how the others wait."""

import math
from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part
from doorman.validation.flowcontrol.flow_schema import condition_errors
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_QUEUES_MAX: Final = 10_000_000
_HASH_BITS_MAX: Final = 60
_ZERO_SHARES: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_NOT_NEGATIVE: Final = "must be a non-negative integer"


def _create(doc: Document, _context: Context) -> list[FieldError]:
    metadata, errors = doc["metadata"], validate_metadata(doc)
    if _ZERO_SHARES in (metadata.get("annotations") or {}):
        errors.append(forbidden("metadata.annotations", f"annotation '{_ZERO_SHARES}' is forbidden"))
    return [*errors, *_spec_errors(metadata.get("name") or "", doc.get("spec") or {}), *condition_errors(doc)]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    if context.subresource:
        return condition_errors(new)
    return distinct([*_create(new, context), *validate_metadata_update(new, old)])


def _spec_errors(name: str, spec: Part) -> list[FieldError]:
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    errors: list[FieldError] = []
    if (name == "exempt") is not (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt" and exempt is not None:
        errors += _share_errors(exempt, "spec.exempt")
    if kind == "Limited" and limited is not None:
        errors += _limited_errors(limited, "spec.limited")
    if not kind:
        errors.append(required("spec.type"))
    elif kind not in ("Exempt", "Limited"):
        errors.append(not_supported("spec.type", kind, ("Exempt", "Limited")))
    if kind != "Limited" and limited is not None:
        errors.append(forbidden("spec.limited"))
    if kind == "Limited" and limited is None:
        errors.append(required("spec.limited"))
    if kind != "Exempt" and exempt is not None:
        errors.append(forbidden("spec.exempt"))
    if kind != "Limited" and limited is not None:
        # Whether the answer's type and its members fit is looked at whatever the level is of.
        errors += _choice_errors(limited.get("limitResponse") or {}, "spec.limited.limitResponse")
    return errors


def _share_errors(part: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    shares, percent = part.get("nominalConcurrencyShares"), part.get("lendablePercent")
    if shares is not None and shares < 0:
        errors.append(invalid(f"{path}.nominalConcurrencyShares", shares, _NOT_NEGATIVE))
    if percent is not None and not 0 <= percent <= 100:
        errors.append(invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive"))
    return errors


def _limited_errors(limited: Part, path: str) -> list[FieldError]:
    shares = {"nominalConcurrencyShares": limited.get("nominalConcurrencyShares")}
    errors = _share_errors(shares, path)
    errors += _response_errors(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    errors += _share_errors({"lendablePercent": limited.get("lendablePercent")}, path)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowed, f"if specified, {_NOT_NEGATIVE}"))
    return errors


def _response_errors(response: Part, path: str) -> list[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    errors: list[FieldError] = []
    if kind == "Queue" and queuing is not None:
        errors += _queuing_errors(queuing, f"{path}.queuing")
    if kind and kind not in ("Queue", "Reject"):
        errors.append(not_supported(f"{path}.type", kind, ("Queue", "Reject")))
    return errors + _choice_errors(response, path)


def _choice_errors(response: Part, path: str) -> list[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    errors: list[FieldError] = []
    if kind != "Queue" and queuing is not None:
        errors.append(forbidden(f"{path}.queuing"))
    if kind == "Queue" and queuing is None:
        errors.append(required(f"{path}.queuing"))
    if not kind:
        errors.append(required(f"{path}.type"))
    return errors


def _queuing_errors(queuing: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    limit, queues, hand = (queuing.get(name, 0) for name in ("queueLengthLimit", "queues", "handSize"))
    if limit <= 0:
        errors.append(invalid(f"{path}.queueLengthLimit", limit, "must be positive"))
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _QUEUES_MAX:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {_QUEUES_MAX}"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS_MAX:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        errors.append(invalid(f"{path}.handSize", hand, f"{text} {_HASH_BITS_MAX}"))
    return errors


PRIORITY_LEVEL: Final = Validator(create=_create, update=_update)
