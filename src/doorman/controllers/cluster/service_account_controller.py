"""serviceaccount-controller: every active namespace has the account `default`.

It reads namespaces and service accounts. Keys are names of namespaces.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.core import Namespace
from doorman.api.views.meta import Object
from doorman.base.clock import Instant
from doorman.client.actions import Create
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "serviceaccount-controller"
ACCOUNT: Final = "default"
WORKERS: Final = 8


def namespace_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()


def account_keys(change: ObjectChange) -> Iterable[str]:
    """An account that is deleted comes back."""
    if change.new is not None or change.newest.metadata.name != ACCOUNT:
        return ()
    return (change.newest.metadata.namespace,)


SOURCES: Final = (Source("namespaces", namespace_keys), Source("serviceaccounts", account_keys))


def decide_account(namespace: Namespace | None, account: Object | None) -> Create | None:
    if namespace is None or not namespace.is_active or account is not None:
        return None
    name = namespace.metadata.name
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": name}}
    return Create(resource="serviceaccounts", namespace=name, body=body)


class ServiceAccountController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, namespaces: ListerOf[Namespace], accounts: ListerOf[Object]) -> None:
        self._namespaces = namespaces
        self._accounts = accounts

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        create = decide_account(self._namespaces.get(key), self._accounts.get(f"{key}/{ACCOUNT}"))
        return Result(actions=(create,)) if create is not None else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the namespace tries again."""
        return
