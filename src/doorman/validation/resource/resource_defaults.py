"""Defaults of claims, their templates and requests for reports. Times are filled in where the clock is: on writing."""

from collections.abc import Callable, Mapping
from typing import Final

from doorman.base.json_types import Document

POOLS_SHOWN: Final = 100


def default_resource_claim(doc: Document) -> None:
    _default_claim_spec(doc.get("spec"), always=True)


def default_resource_claim_v1beta1(doc: Document) -> None:
    _default_claim_spec(doc.get("spec"), always=False)


def default_resource_claim_template(doc: Document) -> None:
    _default_claim_spec((doc.get("spec") or {}).get("spec"), always=True)


def default_resource_claim_template_v1beta1(doc: Document) -> None:
    _default_claim_spec((doc.get("spec") or {}).get("spec"), always=False)


def default_pool_status_request(doc: Document) -> None:
    doc.setdefault("spec", {}).setdefault("limit", POOLS_SHOWN)


def _default_claim_spec(spec: Document | None, *, always: bool) -> None:
    """Not `always`: a request without a class is taken to have alternatives, which have defaults of their own."""
    for request in ((spec or {}).get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is not None:
            if always or exactly.get("deviceClassName"):
                _default_amount(exactly)
            _default_operators(exactly)
        for alternative in request.get("firstAvailable") or ():
            _default_amount(alternative)
            _default_operators(alternative)


def _default_amount(wanted: Document) -> None:
    wanted["allocationMode"] = wanted.get("allocationMode") or "ExactCount"
    if wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
        wanted["count"] = 1


def _default_operators(wanted: Document) -> None:
    for toleration in wanted.get("tolerations") or ():
        toleration["operator"] = toleration.get("operator") or "Equal"


RESOURCE_DEFAULTERS: Final[Mapping[str, Callable[[Document], None]]] = {
    "resourceclaims.resource.k8s.io": default_resource_claim,
    "resourceclaims.resource.k8s.io/v1beta1": default_resource_claim_v1beta1,
    "resourceclaimtemplates.resource.k8s.io": default_resource_claim_template,
    "resourceclaimtemplates.resource.k8s.io/v1beta1": default_resource_claim_template_v1beta1,
    "resourcepoolstatusrequests.resource.k8s.io": default_pool_status_request,
}
"""See `doorman.validation.defaults`."""
