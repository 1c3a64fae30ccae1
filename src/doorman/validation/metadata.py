"""Metadata of every kind: names, labels, annotations, owners, finalizers, and what an update may not touch.

Documents come here after the server has filled in what it owns (namespace, uid, times), and cleaned.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, FieldErrorType, invalid, required, too_long
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import (
    label_value_faults,
    path_segment_faults,
    qualified_name_faults,
    subdomain_faults,
)
from doorman.validation.context import Context, Validator, distinct

ANNOTATIONS_BYTES_MAX: Final = 256 * 1024
IMMUTABLE: Final = "field is immutable"

STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_NEITHER: Final = "name is neither a standard finalizer name nor is it fully qualified"
_BANNED_OWNERS: Final = frozenset({("v1", "Event")})
_FIXED_FIELDS: Final = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip
_CHECKED: Final = ("generateName", "labels", "annotations", "ownerReferences", "finalizers")

NameFaults = Callable[[str], Sequence[str]]


def validate_metadata(doc: Document, name_faults: NameFaults = subdomain_faults) -> list[FieldError]:
    """The checks of a create, which updates make too. The namespace is the server's: it exists, so it is well named."""
    metadata = doc.get("metadata") or {}
    errors = _name_errors(metadata, name_faults)
    if (generation := metadata.get("generation") or 0) < 0:
        errors.append(invalid("metadata.generation", generation, "must be greater than or equal to 0"))
    if labels := metadata.get("labels"):
        errors.extend(label_errors(labels, "metadata.labels"))
    if annotations := metadata.get("annotations"):
        errors.extend(annotation_errors(annotations, "metadata.annotations"))
    if owners := metadata.get("ownerReferences"):
        errors.extend(_owner_errors(owners, "metadata.ownerReferences"))
    if finalizers := metadata.get("finalizers"):
        errors.extend(_finalizer_errors(finalizers, "metadata.finalizers"))
    return errors


def validate_metadata_update(new: Document, old: Document) -> list[FieldError]:
    """What an update may not do to metadata, and the checks of labels, annotations and owners."""
    after: Mapping[str, Any] = new.get("metadata") or {}
    before: Mapping[str, Any] = old.get("metadata") or {}
    errors = _fixed_member_errors(after, before)
    # What is as it was has been found valid before.
    if (labels := after.get("labels")) and labels != before.get("labels"):
        errors.extend(label_errors(labels, "metadata.labels"))
    if (annotations := after.get("annotations")) and annotations != before.get("annotations"):
        errors.extend(annotation_errors(annotations, "metadata.annotations"))
    if (owners := after.get("ownerReferences")) and owners != before.get("ownerReferences"):
        errors.extend(_owner_errors(owners, "metadata.ownerReferences"))
    errors.extend(_changed_finalizer_errors(after, before))
    return errors


def common_update_errors(new: Document, old: Document) -> list[FieldError]:
    """What is said of an update whatever the kind is, before the kind says anything.

    Names need only be parts of a path, and a finalizer no domain. What is as it was has been found valid before.
    """
    after: Mapping[str, Any] = new.get("metadata") or {}
    before: Mapping[str, Any] = old.get("metadata") or {}
    errors: list[FieldError] = []
    changed = {name: found for name in _CHECKED if (found := after.get(name)) and found != before.get(name)}
    if changed:
        errors = validate_metadata({"metadata": {"name": after.get("name", ""), **changed}}, path_segment_faults)
    errors += _fixed_member_errors(after, before)
    if "finalizers" in changed:
        errors += _changed_finalizer_errors(after, before)
    return _without_own_finalizers(errors)


def _fixed_member_errors(after: Mapping[str, Any], before: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if before.get("deletionTimestamp"):
        errors.extend(_new_finalizer_errors(after.get("finalizers") or (), before.get("finalizers") or ()))
    if _fixed_members(after) != _fixed_members(before):
        errors += [
            invalid(f"metadata.{field}", after.get(field), IMMUTABLE)
            for field in _FIXED_FIELDS
            if after.get(field) != before.get(field)
        ]
    return errors


def _fixed_members(metadata: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(map(metadata.get, _FIXED_FIELDS))


def _changed_finalizer_errors(after: Mapping[str, Any], before: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if (finalizers := after.get("finalizers")) and finalizers != before.get("finalizers"):
        for index, finalizer in enumerate(finalizers):
            errors.extend(kube_finalizer_errors(finalizer, f"metadata.finalizers[{index}]"))
    return errors


def label_errors(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Labels, and whatever is shaped like them: node selectors, selectors' matchLabels."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid(path, key, fault) for fault in qualified_name_faults(key)]
        errors += [invalid(path, value, fault) for fault in label_value_faults(value)]
    return errors


def annotation_errors(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    characters = 0
    for key, value in annotations.items():
        characters += len(key) + len(value)
        errors += [invalid(path, key, fault) for fault in qualified_name_faults(key.lower())]
    # A character is at most four bytes, so the exact count is needed only near the limit.
    if characters * 4 > ANNOTATIONS_BYTES_MAX:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > ANNOTATIONS_BYTES_MAX:
            errors.append(too_long(path, ANNOTATIONS_BYTES_MAX))
    return errors


def metadata_validator(name_faults: NameFaults = subdomain_faults) -> Validator:
    """For kinds of which nothing but metadata is checked."""

    def create(doc: Document, _context: Context) -> list[FieldError]:
        return validate_metadata(doc, name_faults)

    def update(new: Document, old: Document, _context: Context) -> list[FieldError]:
        return distinct([*validate_metadata_update(new, old), *validate_metadata(new, name_faults)])

    return Validator(create=create, update=update)


def with_any_finalizer(validator: Validator) -> Validator:
    """The same checks, but that a finalizer needs no domain."""

    def create(doc: Document, context: Context) -> list[FieldError]:
        return _without_own_finalizers(validator.create(doc, context))

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        return _without_own_finalizers(validator.update(new, old, context))

    return Validator(create=create, update=update)


def _without_own_finalizers(errors: list[FieldError]) -> list[FieldError]:
    return [error for error in errors if not error.body.endswith(_NEITHER)] if errors else errors


def _name_errors(metadata: Mapping[str, Any], name_faults: NameFaults) -> list[FieldError]:
    errors: list[FieldError] = []
    generate_name = metadata.get("generateName", "")
    if generate_name:
        stem = generate_name
        if len(stem) > 1 and stem.endswith("-"):
            # What follows the hyphen is to come, so it is checked as if a letter stood there.
            stem = stem[:-2] + "a"
        errors.extend(invalid("metadata.generateName", generate_name, fault) for fault in name_faults(stem))
    name = metadata.get("name", "")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors.extend(invalid("metadata.name", name, fault) for fault in name_faults(name))
    return errors


def _owner_errors(owners: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for index, owner in enumerate(owners):
        errors.extend(_one_owner_errors(owner, f"{path}[{index}]"))
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                both = f"{controller} and {name}"
                text = f'Only one reference can have Controller set to true. Found "true" in references for {both}'
                errors.append(invalid(path, owners, text))
            else:
                controller = name
    return errors


def _one_owner_errors(owner: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
    if not api_version:
        errors.append(required(f"{path}.apiVersion", "must not be empty"))
    elif api_version.count("/") > 1 or not api_version.rpartition("/")[2]:
        errors.append(invalid(f"{path}.apiVersion", api_version, "must be <group>/<version> or <version>"))
    errors.extend(
        required(f"{path}.{field}", "must not be empty") for field in ("kind", "name", "uid") if not owner.get(field)
    )
    if (api_version, kind) in _BANNED_OWNERS:
        errors.append(invalid(path, owner, f"/{api_version}, Kind={kind} is disallowed from being an owner"))
    return errors


def _finalizer_errors(finalizers: Sequence[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for finalizer in finalizers:
        errors.extend(invalid(path, finalizer, fault) for fault in qualified_name_faults(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, finalizers, text))
    for index, finalizer in enumerate(finalizers):
        errors.extend(kube_finalizer_errors(finalizer, f"{path}[{index}]"))
    return errors


def kube_finalizer_errors(finalizer: str, path: str) -> list[FieldError]:
    """A finalizer without a domain must be one of Kubernetes' own."""
    if "/" in finalizer or finalizer in STANDARD_FINALIZERS:
        return []
    return [invalid(path, finalizer, _NEITHER)]


def _new_finalizer_errors(after: Sequence[str], before: Sequence[str]) -> list[FieldError]:
    added = sorted(set(after) - set(before))
    if not added:
        return []
    listed = ", ".join(quote(finalizer) for finalizer in added)
    text = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [FieldError(FieldErrorType.FORBIDDEN, "metadata.finalizers", f"Forbidden: {text}")]
