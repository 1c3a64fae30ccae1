"""CustomResourceDefinitions of `apiextensions.k8s.io/v1beta1`, the version in which kube-apiserver still stores them.

It has at the top of its spec what is the same in all versions; v1 has it in each.
"""

from typing import Any, Final

from doorman.base.json_types import Document

_SHARED: Final = {"validation": "schema", "subresources": "subresources", "selectableFields": "selectableFields"}
"""At the top, and what it is called in a version."""


def from_v1beta1(doc: Document) -> Document:
    """As v1 has it. The given one is not changed.

    >>> old = {"spec": {"version": "v1", "validation": {"openAPIV3Schema": {}}, "names": {}}}
    >>> from_v1beta1(old)["spec"]["versions"]
    [{'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {}}}]
    """
    old = dict(doc["spec"])
    first = {"name": old.pop("version", ""), "served": True, "storage": True}
    versions = [dict(version) for version in old.pop("versions", None) or [first]]
    for name, inside in _SHARED.items():
        shared = old.pop(name, None)
        if shared is not None:
            for version in versions:
                version.setdefault(inside, shared)
    columns = old.pop("additionalPrinterColumns", None)
    for version in versions:
        found = version.pop("additionalPrinterColumns", columns)
        if found is not None:
            version["additionalPrinterColumns"] = [_column(column) for column in found]
    new = {**old, "versions": versions}
    if "conversion" in old:
        new["conversion"] = _conversion(old["conversion"])
    if new.get("preserveUnknownFields") is None:
        new.pop("preserveUnknownFields", None)
    return {**doc, "spec": new}


def _column(column: dict[str, Any]) -> dict[str, Any]:
    """`JSONPath` became `jsonPath`."""
    return {("jsonPath" if name == "JSONPath" else name): value for name, value in column.items()}


def _conversion(conversion: dict[str, Any]) -> dict[str, Any]:
    """What a webhook takes moved into a member of its own."""
    new = {
        name: value
        for name, value in conversion.items()
        if name not in ("webhookClientConfig", "conversionReviewVersions")
    }
    webhook = {
        "clientConfig": conversion.get("webhookClientConfig"),
        "conversionReviewVersions": conversion.get("conversionReviewVersions"),
    }
    if any(value is not None for value in webhook.values()):
        new["webhook"] = {name: value for name, value in webhook.items() if value is not None}
    return new
