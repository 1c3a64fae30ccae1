"""Which checks upstream makes from its types' declarations.

Those come after all others, and say no more than what is wrong. A row names a field, without indexes, and what may be
wrong with it; the order of the rows is the order of the errors.
"""

import re
from collections.abc import Mapping
from typing import Final

from doorman.base.errors import FieldError, FieldErrorType, invalid, required
from doorman.validation.context import Context, Validator
from doorman.validation.metadata import IMMUTABLE

_INDEX: Final = re.compile(r"\[[^\]]*\]")

DECLARED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "roles.rbac.authorization.k8s.io": (("rules.verbs", "required"),),
    "clusterroles.rbac.authorization.k8s.io": (("rules.verbs", "required"),),
    "rolebindings.rbac.authorization.k8s.io": (("subjects.name", "required"), ("roleRef.name", "required")),
    "clusterrolebindings.rbac.authorization.k8s.io": (
        ("subjects.name", "required"),
        ("roleRef", "immutable"),
        ("roleRef.name", "required"),
    ),
    "storageclasses.storage.k8s.io": (
        ("provisioner", "required"),
        ("provisioner", "immutable"),
        ("parameters", "immutable"),
        ("reclaimPolicy", "immutable"),
        ("volumeBindingMode", "immutable"),
    ),
    "volumeattachments.storage.k8s.io": (
        ("spec", "immutable"),
        ("spec.attacher", "required"),
        ("spec.attacher", "invalid"),
        ("spec.attacher", "too long"),
    ),
    "endpointslices.discovery.k8s.io": (
        ("addressType", "required"),
        ("addressType", "immutable"),
        ("addressType", "enum"),
        ("endpoints.addresses", "required"),
        ("endpoints.addresses", "too many"),
    ),
    "ipaddresses.networking.k8s.io": (
        ("spec.parentRef", "required"),
        ("spec.parentRef.resource", "required"),
        ("spec.parentRef.name", "required"),
        ("spec.parentRef", "immutable"),
    ),
    "networkpolicies.networking.k8s.io": (
        ("spec.ingress.from.ipBlock.cidr", "required"),
        ("spec.egress.to.ipBlock.cidr", "required"),
    ),
    "ingressclasses.networking.k8s.io": (("spec.parameters.kind", "required"), ("spec.parameters.name", "required")),
    "runtimeclasses.node.k8s.io": (("handler", "required"), ("handler", "invalid"), ("handler", "immutable")),
    "cronjobs.batch": (("spec.schedule", "required"),),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": (
        ("spec.policyName", "required"),
        ("spec.validationActions", "required"),
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        ("spec.exempt", "forbidden"),
        ("spec.limited", "forbidden"),
        ("spec.limited", "required"),
        ("spec.type", "required"),
        ("spec.limited.limitResponse.queuing", "forbidden"),
        ("spec.limited.limitResponse.queuing", "required"),
        ("spec.limited.limitResponse.type", "required"),
    ),
    "certificatesigningrequests.certificates.k8s.io": (("status.conditions", "invalid"),),
    "replicationcontrollers": (
        ("spec.replicas", "required"),
        ("spec.replicas", "invalid"),
        ("spec.minReadySeconds", "invalid"),
    ),
}

_TYPES: Final = {
    FieldErrorType.REQUIRED: "required",
    FieldErrorType.NOT_SUPPORTED: "enum",
    FieldErrorType.TOO_LONG: "too long",
    FieldErrorType.TOO_MANY: "too many",
    FieldErrorType.INVALID: "invalid",
    FieldErrorType.FORBIDDEN: "forbidden",
}


def with_declared_last(storage: str, validator: Validator) -> Validator:
    """The same checks in upstream's order."""
    rows = DECLARED.get(storage)
    if rows is None:
        return validator
    places = {row: place for place, row in enumerate(rows)}

    def create(doc: dict[str, object], context: Context) -> list[FieldError]:
        return _sorted(validator.create(doc, context), places)

    def update(new: dict[str, object], old: dict[str, object], context: Context) -> list[FieldError]:
        return _sorted(validator.update(new, old, context), places)

    return Validator(create=create, update=update)


def _sorted(errors: list[FieldError], places: Mapping[tuple[str, str], int]) -> list[FieldError]:
    if not errors:
        return errors
    first: list[FieldError] = []
    last: list[tuple[int, FieldError]] = []
    fixed = [error.field for error in errors if (error.field, "immutable") in places and _kind(error) == "immutable"]
    for error in errors:
        place = places.get((_INDEX.sub("", error.field), _kind(error)))
        if place is None or (_kind(error) != "immutable" and _is_within(error.field, fixed)):
            first.append(error)
        else:
            last.append((place, _as_declared(error)))
    return [*first, *(error for _, error in sorted(last, key=lambda row: row[0]))]


def _is_within(field: str, fixed: list[str]) -> bool:
    """Of what may not change and did, the declarations say no more: what else is wrong with it is said otherwise."""
    return any(field == one or field.startswith((one + ".", one + "[")) for one in fixed)


def _as_declared(error: FieldError) -> FieldError:
    if error.type is FieldErrorType.REQUIRED:
        return required(error.field)
    return invalid(error.field, None, IMMUTABLE) if _kind(error) == "immutable" else error


def _kind(error: FieldError) -> str:
    if error.type is FieldErrorType.INVALID and error.body.endswith(IMMUTABLE):
        return "immutable"
    return _TYPES.get(error.type, "")
