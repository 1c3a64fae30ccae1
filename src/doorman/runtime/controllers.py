"""The controllers this server can run, in the order in which they are started."""

from collections.abc import Callable, Mapping
from typing import Final

from doorman.client.controller import Controller
from doorman.controllers.node_lifecycle import NodeLifecycleController
from doorman.controllers.taint_eviction import TaintEvictionController
from doorman.runtime.informers import Informers
from doorman.runtime.settings import Settings

Build = Callable[[Informers, Settings], Controller]


def _taint_eviction(informers: Informers, settings: Settings) -> Controller:
    return TaintEvictionController(informers.lister("nodes"), informers.lister("pods"), settings.taint_eviction)


def _node_lifecycle(informers: Informers, settings: Settings) -> Controller:
    return NodeLifecycleController(
        informers.lister("nodes"),
        informers.lister("pods"),
        informers.lister("leases.coordination.k8s.io"),
        settings.node_lifecycle,
    )


CONTROLLERS: Final[Mapping[str, Build]] = {
    "node-lifecycle-controller": _node_lifecycle,
    "taint-eviction-controller": _taint_eviction,
}
"""By the name `--controllers` takes."""

IDENTITIES: Final[Mapping[str, str]] = {
    "taint-eviction-controller": "node-controller",
    "node-lifecycle-controller": "node-controller",
}
"""The service account in kube-system a controller acts as, where it is not named after the controller."""


def identity_of(name: str) -> str:
    account = IDENTITIES.get(name, name)
    return f"system:serviceaccount:kube-system:{account}"
