"""Under which keys objects are stored in etcd, without the prefix of the cluster: messages name them."""

from collections.abc import Mapping
from typing import Final

from doorman.api.kinds import Kind

PREFIXES: Final[Mapping[str, str]] = {
    "nodes": "minions",
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "replicationcontrollers": "controllers",
    "ingresses.networking.k8s.io": "ingress",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
}
"""Of resources that are not stored under their own name."""


def storage_key(kind: Kind, namespace: str, name: str) -> str:
    """
    >>> from doorman.api.kinds import builtin_kinds
    >>> storage_key(builtin_kinds().named("nodes"), "", "n"), storage_key(builtin_kinds().named("pods"), "a", "p")
    ('/minions/n', '/pods/a/p')
    """
    if kind.is_custom:
        prefix = f"{kind.group}/{kind.resource}"
    else:
        prefix = PREFIXES.get(kind.storage) or kind.storage.partition(".")[0]
    # A namespace is in itself as far as authorization goes, and not where it is stored.
    return "/" + "/".join(part for part in (prefix, namespace if kind.namespaced else "", name) if part)
