"""kubernetesservice: the API's own service is there, and leads to this server.

The API server does this in Kubernetes, every ten seconds; here a deletion wakes it. It is given what there is to be,
and makes again what somebody deleted. What somebody changed is left as it is until the next start.

Keys: resources, `services`; of each there is one object, `default/kubernetes`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from doorman.base.clock import Instant
from doorman.client.actions import Create
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "kubernetesservice"
NAMESPACE: Final = "default"
OBJECT: Final = "kubernetes"
RESOURCES: Final = ("services", "endpoints", "endpointslices.discovery.k8s.io")
WORKERS: Final = 1


def _source(resource: str) -> Source:
    def keys(change: ObjectChange) -> Iterable[str]:
        meta = change.newest.metadata
        is_ours = change.new is None and meta.name == OBJECT and meta.namespace == NAMESPACE
        return (resource,) if is_ours else ()

    return Source(resource, keys)


class KubernetesServiceController:
    name = NAME
    sources = tuple(_source(resource) for resource in RESOURCES)
    workers = WORKERS

    def __init__(
        self,
        listers: Mapping[str, ListerOf[Any]],  # views of three kinds
        manifests: Mapping[str, dict[str, Any]],  # manifests
    ) -> None:
        """Both by resource."""
        self._listers = listers
        self._manifests = manifests

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        if key not in self._manifests or self._listers[key].get(f"{NAMESPACE}/{OBJECT}") is not None:
            return DONE
        return Result(actions=(Create(resource=key, namespace=NAMESPACE, body=self._manifests[key]),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next start makes it."""
        return
