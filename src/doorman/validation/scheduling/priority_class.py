"""Priority classes."""

from typing import Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update

USER_PRIORITY_MAX: Final = 1_000_000_000
SYSTEM_PRIORITY: Final = 2_000_000_000
SYSTEM_PREFIX: Final = "system-"
SYSTEM_CLASSES: Final = {
    "system-node-critical": SYSTEM_PRIORITY + 1000,
    "system-cluster-critical": SYSTEM_PRIORITY,
}
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def validate_priority_class_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    name, value = doc["metadata"].get("name", ""), doc.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        if why := _system_fault(name, value, is_default=doc.get("globalDefault", False)):
            text = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"
            errors.append(forbidden("metadata.name", text))
    elif value > USER_PRIORITY_MAX:
        text = f"maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}"
        errors.append(forbidden("value", text))
    policy = doc.get("preemptionPolicy")
    if policy == "":
        errors.append(required("preemptionPolicy"))
    elif policy is not None and policy not in _POLICIES:
        errors.append(not_supported("preemptionPolicy", JsonText(policy), _POLICIES))
    return errors


def validate_priority_class_update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable"))
    return distinct(errors)


def _system_fault(name: str, value: int, *, is_default: bool) -> str:
    """Why a class is not one of the two that Kubernetes brings along, empty when it is."""
    known = SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
