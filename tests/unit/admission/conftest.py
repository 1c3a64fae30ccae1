"""What the tests of plugins share: documents to look up, and requests."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from doorman.admission.plugin_contract import Attributes, Docs, Operation, Weigh
from doorman.api.identity import ADMIN, User
from doorman.api.kinds import builtin_kinds
from doorman.base.json_types import Document
from doorman.semantics.pods.pod_resources import Amounts


class World:
    """Documents by plural name, in one namespace."""

    def __init__(self, **docs: list[Document]) -> None:
        self._docs = docs

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        return next((doc for doc in self.list(resource) if doc["metadata"]["name"] == name), None)

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self.get(resource, namespace, name)
        return None if found is None else found["metadata"].get("labels", {})

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:
        return self._docs.get(resource.partition(".")[0], [])

    def total(self, resource: str, namespace: str, _name: str, weigh: Weigh) -> Amounts:
        found: Amounts = {}
        for doc in self.list(resource, namespace):
            for name, amount in weigh(dict(doc)).items():
                found[name] = found.get(name, Fraction(0)) + amount
        return found

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        found = (row for row in builtin_kinds().rows if (row.group_version, row.kind) == (api_version, kind))
        return next(((row.group_resource, row.namespaced) for row in found), None)

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        return docs

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        """Nothing here has other versions."""


@pytest.fixture(name="world")
def _world() -> Callable[..., World]:
    return World


@pytest.fixture(name="asked")
def _asked() -> Callable[..., Attributes]:
    def make(
        obj: Document | None,
        resource: str = "pods",
        *,
        operation: Operation = Operation.CREATE,
        old: Document | None = None,
        subresource: str = "",
        user: User = ADMIN,
        name: str = "",
        namespace: str = "ns",
    ) -> Attributes:
        plural, _, group = resource.partition(".")
        return Attributes(
            operation=operation,
            group=group,
            kind="Kind",
            resource=plural,
            subresource=subresource,
            namespace=namespace,
            name=name or ((obj or old or {}).get("metadata") or {}).get("name", ""),
            user=user,
            obj=obj,
            old=old,
        )

    return make
