"""ResourceClaimAccess: who may have access to devices as an administrator, and who may say what became of a claim.

Upstream asks this when it validates a claim; so what is refused is refused as invalid.

1. Claims and templates that ask for `adminAccess`, and allocations that grant it, need a label on their namespace.
2. Allocation and reservations are written by whoever may update `resourceclaims/binding` in the whole cluster.
3. What a driver reports of a device is written by whoever may `arbitrary-node:update` the driver's name below
   `resourceclaims/driver`; a service account on the node of the allocation may do with `associated-node:update`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE, UPDATE, Attributes, ClusterReader, Interest, RequestPreview
from doorman.api.identity import User
from doorman.api.well_known import SERVICE_ACCOUNT_PREFIX
from doorman.base.clock import Instant
from doorman.base.errors import FieldError, GroupResource, forbidden, forbidden_request, invalid_object
from doorman.base.go_format import quote
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion
from doorman.semantics.name_syntax import subdomain_faults

NAME: Final = "ResourceClaimAccess"
GROUP: Final = "resource.k8s.io"
CLAIMS: Final = f"resourceclaims.{GROUP}"
TEMPLATES: Final = f"resourceclaimtemplates.{GROUP}"
ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"

ClaimPart = Mapping[str, Any]  # a part of a document
RightsLookup = Callable[[User, AuthorizerQuestion], AuthorizerAnswer]


def decide_admin_request(spec: ClaimPart, labels: Mapping[str, str]) -> list[FieldError]:
    """Of the spec of a claim. Alternatives cannot ask for it."""
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            return _admin_errors(f"spec.devices.requests[{index}].adminAccess", labels)
    return []


def decide_admin_status(status: ClaimPart, old: ClaimPart, labels: Mapping[str, str]) -> list[FieldError]:
    """Of an allocation: one that had been granted stays."""
    if any(result.get("adminAccess") for result in _results(old)):
        return []
    for index, result in enumerate(_results(status)):
        if result.get("adminAccess"):
            return _admin_errors(f"status.allocation.devices.results[{index}].adminAccess", labels)
    return []


def is_binding_changed(status: ClaimPart, old: ClaimPart) -> bool:
    return any((status.get(member) or None) != (old.get(member) or None) for member in ("allocation", "reservedFor"))


def changed_drivers(status: ClaimPart, old: ClaimPart) -> list[str]:
    """Drivers of whose devices something else is reported than before."""
    before = {_device_key(device): device for device in old.get("devices") or ()}
    after = {_device_key(device): device for device in status.get("devices") or ()}
    changed = {key for key in {**before, **after} if before.get(key) != after.get(key)}
    return sorted({key[0] for key in changed})


def driver_verbs(verb: str, user: User, allocation: ClaimPart | None) -> list[str]:
    """One of these is enough."""
    anywhere = f"arbitrary-node:{verb}"
    names = user.extra.get(_NODE_NAME, ())
    node = _allocated_node(allocation)
    is_there = bool(node) and user.name.startswith(SERVICE_ACCOUNT_PREFIX) and len(names) == 1 and names[0] == node
    return [f"associated-node:{verb}", anywhere] if is_there and not subdomain_faults(node) else [anywhere]


def _admin_errors(path: str, labels: Mapping[str, str]) -> list[FieldError]:
    if labels.get(ADMIN_LABEL) == "true":
        return []
    text = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
    return [forbidden(path, text)]


def _results(status: ClaimPart) -> Sequence[ClaimPart]:
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()


def _device_key(device: ClaimPart) -> tuple[str, str, str, str]:
    driver, pool, name, share = (device.get(member) or "" for member in ("driver", "pool", "device", "shareID"))
    return driver, pool, name, share


def _allocated_node(allocation: ClaimPart | None) -> str:
    """The one node that an allocation names; empty when it names none, or says more than its name."""
    terms: Sequence[ClaimPart] = ((allocation or {}).get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(terms[0].get("matchFields") or ()) != 1:
        return ""
    field: ClaimPart = terms[0]["matchFields"][0]
    values: Sequence[str] = field.get("values") or ()
    is_name = field.get("key") == "metadata.name" and field.get("operator") == "In" and len(values) == 1
    return values[0] if is_name else ""


def _question(verb: str, subresource: str, namespace: str = "", name: str = "") -> AuthorizerQuestion:
    return AuthorizerQuestion(
        verb=verb, group=GROUP, resource="resourceclaims", subresource=subresource, namespace=namespace, name=name
    )


class ResourceClaimAccess:
    name = NAME

    def __init__(self, authorize: RightsLookup) -> None:
        self._authorize = authorize
        self.interests = (
            Interest(resource=CLAIMS, operations=CREATE),
            Interest(resource=TEMPLATES, operations=CREATE),
            Interest(resource=CLAIMS, subresource="status", operations=UPDATE, passes=self._passes),
        )

    def _passes(self, preview: RequestPreview, _cluster: ClusterReader) -> bool:
        """Who may allocate."""
        return preview.allocates and self._authorize(preview.user, _question("update", "binding")).is_allowed

    def validate(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:  # noqa: ARG002
        doc = attributes.obj or {}
        labels = cluster.labels("namespaces", "", attributes.namespace) or {}
        if attributes.subresource:
            errors = self._status_errors(attributes, doc.get("status") or {}, labels)
        else:
            spec = doc.get("spec") or {}
            spec = (spec.get("spec") or {}) if attributes.group_resource == TEMPLATES else spec
            errors = decide_admin_request(spec, labels)
        if errors:
            raise invalid_object(attributes.kind, attributes.group, attributes.name, errors)

    def _status_errors(self, attributes: Attributes, status: ClaimPart, labels: Mapping[str, str]) -> list[FieldError]:
        old = (attributes.old or {}).get("status") or {}
        verb = "patch" if (attributes.options or {}).get("kind") == "PatchOptions" else "update"
        errors = decide_admin_status(status, old, labels)
        if is_binding_changed(status, old):
            refused = self._refusal(attributes, _question(verb, "binding"))
            if refused:
                text = "changing status.allocation or status.reservedFor requires"
                text = f'{text} resource="resourceclaims/binding", verb="{verb}" permission: {refused}'
                errors.append(forbidden("status.allocation", text))
        if status.get("allocation") is None:
            return errors
        verbs = driver_verbs(verb, attributes.user, status["allocation"])
        for driver in changed_drivers(status, old):
            refused = self._driver_refusal(attributes, verbs, driver)
            if refused:
                text = f'changing status.devices requires resource="resourceclaims/driver", verb="[{" ".join(verbs)}]"'
                errors.append(forbidden("status.devices", f"{text} permission: {refused}"))
        return errors

    def _driver_refusal(self, attributes: Attributes, verbs: Sequence[str], driver: str) -> str:
        """What is said against the first of the verbs; empty when any of them is allowed."""
        refusals: list[str] = []
        for verb in verbs:
            refused = self._refusal(attributes, _question(verb, "driver", attributes.namespace, driver))
            if not refused:
                return ""
            refusals.append(refused)
        return refusals[0]

    def _refusal(self, attributes: Attributes, asked: AuthorizerQuestion) -> str:
        answer = self._authorize(attributes.user, asked)
        if answer.is_allowed:
            return ""
        where = f"in the namespace {quote(asked.namespace)}" if asked.namespace else "at the cluster scope"
        said = ": ".join(part for part in (answer.error, answer.reason) if part)
        why = (
            f"User {quote(attributes.user.name)} cannot {asked.verb} resource "
            f'"resourceclaims/{asked.subresource}" in API group "{GROUP}" {where}{f": {said}" if said else ""}'
        )
        return str(forbidden_request(GroupResource(GROUP, "resourceclaims"), asked.name, why))
