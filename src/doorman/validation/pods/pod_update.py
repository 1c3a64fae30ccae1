"""What an update of a pod may change, through the pod itself and through its subresources."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.well_known import MIRROR_POD_ANNOTATION, REQUIRED_TERMS
from doorman.base.errors import FieldError, FieldErrorType, forbidden, invalid, required
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import validate_metadata_update
from doorman.validation.pods.pod import INT32_MAX, allows_comparison_operators, pod_errors
from doorman.validation.pods.pod_resize import resize_errors
from doorman.validation.pods.pod_status_rules import validate_pod_status
from doorman.validation.pods.tolerations import toleration_update_errors

_CHANGEABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_MAPS: Final = frozenset({"nodeSelector", "overhead", "limits", "requests", "matchLabels", "labels", "annotations"})
FIXED_SPEC: Final = f"pod updates may not change fields other than {_CHANGEABLE}"
_ONLY_NODE_SELECTOR_ADDITIONS: Final = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
_SAME_NUMBER_OF_TERMS: Final = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
_ONLY_TERM_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"

_Spec = Mapping[str, Any]  # a PodSpec as JSON


def validate_pod_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    match context.subresource:
        case "status":
            return validate_pod_status(new, old)
        case "ephemeralcontainers":
            return distinct([*validate_metadata_update(new, old), *_ephemeral_errors(new, old, context)])
        case "resize":
            return distinct([*validate_metadata_update(new, old), *resize_errors(new, old, context)])
        case "binding":
            return validate_metadata_update(new, old)
    errors = validate_metadata_update(new, old)
    before: _Spec = old.get("spec") or {}
    after: _Spec = new.get("spec") or {}
    errors.extend(pod_errors(new, comparison_operators=allows_comparison_operators(before, context)))
    errors.extend(_spec_update_errors(after, before))
    return distinct(errors)


def _ephemeral_errors(new: Document, old: Document, context: Context) -> list[FieldError]:
    """Ephemeral containers are added; those that are there stay as they are."""
    if MIRROR_POD_ANNOTATION in (old["metadata"].get("annotations") or {}):
        return [forbidden("", "static pods do not support ephemeral containers")]
    after, before, path = new.get("spec") or {}, old.get("spec") or {}, "spec.ephemeralContainers"
    errors = pod_errors(new, comparison_operators=allows_comparison_operators(before, context))
    found = {container.get("name", ""): container for container in after.get("ephemeralContainers") or ()}
    for stored in before.get("ephemeralContainers") or ():
        name = stored.get("name", "")
        if name not in found:
            errors.append(forbidden(path, f"existing ephemeral containers {quote(name)} may not be removed\n"))
        elif found[name] != stored:
            errors.append(forbidden(path, f"existing ephemeral containers {quote(name)} may not be changed\n"))
    return errors


def _spec_update_errors(new: _Spec, old: _Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("containers", "initContainers"):
        found, is_final = _container_update_errors(new.get(field) or (), old.get(field) or (), f"spec.{field}")
        errors.extend(found)
        if is_final:
            return errors
    deadline_errors, is_final = _deadline_errors(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    errors.extend(deadline_errors)
    if is_final:
        return errors
    new_tolerations, old_tolerations = new.get("tolerations") or [], old.get("tolerations") or []
    errors.extend(toleration_update_errors(new_tolerations, old_tolerations, "spec.tolerations"))
    errors.extend(_gate_errors(new.get("schedulingGates") or (), old.get("schedulingGates") or ()))
    if new == old:
        return errors
    return errors + _fixed_spec_errors(new, old)


def _container_update_errors(
    new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]], path: str
) -> tuple[list[FieldError], bool]:
    """The errors, and whether they make every further comparison pointless."""
    if len(new) != len(old):
        return [forbidden(path, "pod updates may not add or remove containers")], True
    errors: list[FieldError] = []
    for index, container in enumerate(new):
        image = container.get("image", "")
        if not image:
            errors.append(required(f"{path}[{index}].image"))
        if image.strip() != image:
            errors.append(invalid(f"{path}[{index}].image", image, "must not have leading or trailing whitespace"))
    return errors, False


def _deadline_errors(new: int | None, old: int | None) -> tuple[list[FieldError], bool]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return [], False
        return [invalid(path, None, "must not update from a positive integer to nil value")], False
    if not 0 <= new <= INT32_MAX:
        return [invalid(path, new, f"must be between 0 and {INT32_MAX}, inclusive")], True
    if old is not None and old < new:
        return [invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _gate_errors(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    stored = {gate.get("name", "") for gate in old}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name", "") not in stored
    ]


def _fixed_spec_errors(new: _Spec, old: _Spec) -> list[FieldError]:
    """Set back what may change; whatever still differs may not."""
    errors: list[FieldError] = []
    munged = dict(new)
    for field in ("containers", "initContainers"):
        if munged.get(field):
            munged[field] = [
                {**container, "image": stored.get("image")}
                for container, stored in zip(munged[field], old.get(field) or (), strict=True)
            ]
    for field in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        _set_back(munged, old, field)
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        _set_back(munged, old, "terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        errors.extend(_gated_errors(munged, old))
    if not _is_same(munged, old):
        changed = sorted(
            field
            for field in {**munged, **old}
            if not _is_same(munged.get(field), old.get(field), is_map=field in _MAPS)
        )
        # Nobody relies on the text of the difference, only on what stands before it.
        listed = "".join(f"  spec.{field}\n" for field in changed)
        errors.append(FieldError(FieldErrorType.FORBIDDEN, "spec", f"Forbidden: {FIXED_SPEC}\n{listed}"))
    return errors


def _gated_errors(munged: dict[str, Any], old: _Spec) -> list[FieldError]:  # a PodSpec that is changed here
    """A pod that waits may still be told more narrowly where to go."""
    errors: list[FieldError] = []
    selector, stored = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != stored:
        if any(selector.get(key) != value for key, value in stored.items()):
            errors.append(invalid("spec.nodeSelector", selector, _ONLY_NODE_SELECTOR_ADDITIONS))
        _set_back(munged, old, "nodeSelector")
    new_affinity, old_affinity = munged.get("affinity") or {}, old.get("affinity") or {}
    after, before = new_affinity.get("nodeAffinity") or {}, old_affinity.get("nodeAffinity") or {}
    if after != before:
        errors.extend(_node_affinity_errors(after, before, "spec.affinity.nodeAffinity"))
        affinity = {field: value for field, value in new_affinity.items() if field != "nodeAffinity"}
        if before:
            affinity["nodeAffinity"] = before
        munged["affinity"] = affinity
        if not affinity and "affinity" not in old:
            del munged["affinity"]
    return errors


def _node_affinity_errors(after: Mapping[str, Any], before: Mapping[str, Any], path: str) -> list[FieldError]:
    """Preferences are free; of what is required, expressions may be added to each term."""
    path = f"{path}.{REQUIRED_TERMS}"
    old_terms = (before.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or ()
    if not old_terms:
        return []
    new_terms = (after.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or ()
    if len(new_terms) != len(old_terms):
        return [invalid(f"{path}.nodeSelectorTerms", list(new_terms), _SAME_NUMBER_OF_TERMS)]
    errors: list[FieldError] = []
    for index, (new, old) in enumerate(zip(new_terms, old_terms, strict=True)):
        if not any(old.get(field) for field in ("matchExpressions", "matchFields")):
            if new != old:
                at = f"{path}.nodeSelectorTerms[{index}]"
                errors.append(invalid(at, new, "no additions/deletions allowed to empty nodeSelectorTerms"))
            continue
        for field in ("matchExpressions", "matchFields"):
            stored = old.get(field) or []
            if (new.get(field) or [])[: len(stored)] != stored:
                errors.append(invalid(f"{path}.nodeSelectorTerms[{index}]", new, _ONLY_TERM_ADDITIONS))
                break
    return errors


def _set_back(munged: dict[str, Any], old: _Spec, field: str) -> None:  # the same
    if field in old:
        munged[field] = old[field]
    else:
        munged.pop(field, None)


def _is_same(one: object, other: object, *, is_map: bool = False) -> bool:
    """Equal, where lists and maps that are absent and empty are the same. A part of its own that is empty is something
    else than none.
    """
    if one == other:
        return True
    if isinstance(one, dict | None) and isinstance(other, dict | None):
        if (one is None or other is None) and not is_map:
            return False
        one, other = one or {}, other or {}
        return all(_is_same(one.get(key), other.get(key), is_map=key in _MAPS) for key in {**one, **other})
    if isinstance(one, list | None) and isinstance(other, list | None):
        one, other = one or [], other or []
        return len(one) == len(other) and all(map(_is_same, one, other))
    return False
