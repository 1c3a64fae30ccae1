"""root-ca-certificate-publisher-controller: the server's certificate authority, in every namespace.

It reads namespaces and config maps, and keeps `kube-root-ca.crt` there with the right content. Keys are names of
namespaces.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.namespaces import Namespace
from doorman.api.views.serviceaccounts import ConfigMap
from doorman.base.clock import Instant
from doorman.client.actions import Action, Create, Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "root-ca-certificate-publisher-controller"
CONFIG_MAP: Final = "kube-root-ca.crt"
DATA_KEY: Final = "ca.crt"
DESCRIPTION: Final = "The certificate authority of this cluster's API server, for clients inside the cluster."
WORKERS: Final = 8


def namespace_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()


def config_map_keys(change: ObjectChange) -> Iterable[str]:
    """Ours, when it was changed or deleted."""
    meta = change.newest.metadata
    return (meta.namespace,) if meta.name == CONFIG_MAP and change.old is not None else ()


SOURCES: Final = (Source("namespaces", namespace_keys), Source("configmaps", config_map_keys))


def decide_config_map(namespace: Namespace | None, found: ConfigMap | None, root_ca: str) -> Action | None:
    if namespace is None or not namespace.is_active:
        return None
    data = {DATA_KEY: root_ca}
    name = namespace.metadata.name
    if found is None:
        metadata = {
            "name": CONFIG_MAP,
            "namespace": name,
            "annotations": {"kubernetes.io/description": DESCRIPTION},
        }
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        return Create(resource="configmaps", namespace=name, body=body)
    if found.data == data:
        return None
    others = {key: None for key in found.data if key != DATA_KEY}
    body = {"data": {**data, **others}}
    return Patch(resource="configmaps", namespace=name, name=CONFIG_MAP, body=body, type=PatchType.MERGE)


class RootCaController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, namespaces: ListerOf[Namespace], config_maps: ListerOf[ConfigMap], *, root_ca: str) -> None:
        self._namespaces = namespaces
        self._config_maps = config_maps
        self._root_ca = root_ca

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        found = self._config_maps.get(f"{key}/{CONFIG_MAP}")
        action = decide_config_map(self._namespaces.get(key), found, self._root_ca)
        return Result(actions=(action,)) if action is not None else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the namespace tries again."""
        return
