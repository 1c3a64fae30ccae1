"""What quotas are held against, counted from what informers have."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.client.http.http_informers import HttpInformers
from doorman.semantics.pods.pod_resources import Amounts
from doorman.semantics.pods.quota_usage import Requirements, usage_in_scope

WEIGHED: Final = ("pods", "services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io")
"""Kinds of which more is counted than how many there are: their documents are kept."""


class QuotaTotals:
    def __init__(self, informers: HttpInformers) -> None:
        self._informers = informers

    def total_of(self, resource: str, namespace: str, requirements: Requirements) -> Amounts:
        informer = self._informers.of(resource)
        total: Amounts = {}
        for view in informer.cache.by(BY_NAMESPACE, namespace):
            found: Mapping[str, Any] = {"metadata": {"name": view.metadata.name}}
            if informer.documents is not None:
                content = informer.documents.get(view.metadata.key)
                found = msgspec.json.decode(content) if content is not None else found
            for name, amount in usage_in_scope(resource, found, requirements).items():
                total[name] = total.get(name, amount - amount) + amount
        return total
