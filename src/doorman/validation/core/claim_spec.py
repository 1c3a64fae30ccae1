"""What a PersistentVolumeClaim asks for; also in templates of claims."""

from collections.abc import Sequence
from typing import Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.semantics.name_syntax import dns_label_faults, subdomain_faults
from doorman.validation.faults import POSITIVE, Part, badly, maybe, needed
from doorman.validation.metadata import annotation_errors, label_errors
from doorman.validation.selectors import label_selector_errors

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_DEFAULT_GROUP: Final = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def access_mode_errors(modes: Sequence[str], path: str) -> list[FieldError]:
    errors = [not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_spec_errors(spec: Part, path: str, *, any_group: bool = False) -> list[FieldError]:
    """`any_group`: groups of data sources are not looked at, because an older version of the claim has one."""
    modes = spec.get("accessModes") or ()
    errors = [] if modes else [required(f"{path}.accessModes", "at least 1 access mode is required")]
    errors += label_selector_errors(spec.get("selector"), f"{path}.selector")
    errors += access_mode_errors(modes, f"{path}.accessModes")
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    at = f"{path}.resources[storage]"
    if amount is None:
        errors.append(required(at))
    elif parse_quantity(amount) <= 0:
        errors.append(invalid(at, amount, POSITIVE))
    errors += maybe(spec, "storageClassName", path, subdomain_faults)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    errors += _source_errors(spec, path, any_group=any_group)
    return [*errors, *maybe(spec, "volumeAttributesClassName", path, subdomain_faults)]


def _source_errors(spec: Part, path: str, *, any_group: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, one in (("dataSource", source), ("dataSourceRef", reference)):
        if one is None:
            continue
        at, group = f"{path}.{name}", one.get("apiGroup") or ""
        errors += [*needed(one, "name", at), *needed(one, "kind", at)]
        if not group and one.get("kind") != "PersistentVolumeClaim":
            errors.append(invalid(at, one.get("kind") or "", _DEFAULT_GROUP))
        if group and not any_group:
            errors += badly(f"{at}.apiGroup", group, subdomain_faults(group))
    if reference is not None:
        errors += maybe(reference, "namespace", f"{path}.dataSourceRef", dns_label_faults)
    if source is None or reference is None:
        return errors
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, {}, text))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def claim_template_errors(template: Part, path: str) -> list[FieldError]:
    """A claim inside a pod: of metadata, labels and annotations may be given."""
    metadata = template.get("metadata") or {}
    errors = annotation_errors(metadata.get("annotations") or {}, f"{path}.metadata.annotations")
    errors += label_errors(metadata.get("labels") or {}, f"{path}.metadata.labels")
    errors += [
        forbidden(f"{path}.metadata.{name}", "cannot be set")
        for name in metadata
        if name not in ("annotations", "labels") and metadata[name]
    ]
    return [*errors, *claim_spec_errors(template.get("spec") or {}, f"{path}.spec")]
