"""The contract of an admission plugin.

A plugin file has three parts in this order: `INTERESTS` (what it wants to see), `decide_*` (pure functions), and the
class that looks up, decides, and changes the document or refuses it. Refusing is raising an `ApiError`. Plugins are
synchronous and keep no state of their own: what they look up comes through a `ClusterReader`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from doorman.api.identity import User
from doorman.base.clock import Instant
from doorman.base.errors import ApiError, Cause, GroupResource, forbidden_request
from doorman.base.json_types import Document
from doorman.semantics.pods.pod_resources import Amounts


class Operation(StrEnum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class VersionedResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource, or a subresource, and its kind as one version of the API names them."""

    group: str
    version: str
    resource: str
    kind: str
    kind_version: str
    """The group version of the kind, `policy/v1`: that of a subresource may be another one."""


class Unconvertible(Exception):
    """It takes a webhook to convert the object, and whoever asks cannot wait for one."""


class EquivalentVersions(Protocol):
    """The other versions of a request's resource, and how its objects are converted to them."""

    @property
    def others(self) -> Sequence[VersionedResource]: ...

    @property
    def needs_webhook(self) -> bool:
        """Whether nothing can be converted at once."""
        ...

    def convert_to(self, doc: Document, target: VersionedResource) -> Document:
        """The object in that version. Raises Unconvertible. `doc` is not changed."""
        ...

    def convert_from(self, doc: Document, source: VersionedResource) -> Document:
        """An object in that version as `Attributes.obj` has it. Raises Unconvertible."""
        ...

    async def convert_to_async(self, doc: Document, target: VersionedResource) -> Document:
        """The same for whoever may wait."""
        ...

    async def convert_from_async(self, doc: Document, source: VersionedResource) -> Document: ...


class Attributes(msgspec.Struct, kw_only=True):
    """One request. `obj` may be changed in place by `admit`; `old` may not."""

    operation: Operation
    group: str = ""
    version: str = "v1"
    kind: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: User
    manager: str = ""
    """Who is to own the fields, as the request says."""
    dry_run: bool = False
    obj: Document | None = None
    old: Document | None = None
    options: Mapping[str, Any] | None = None  # the create, update or delete options as JSON
    warnings: list[str] = []
    """What whoever asks is to be told besides the answer."""
    generated_names: list[str] = []
    """Names in the object that were generated at random: another one that is alike gets others."""
    is_cacheable: bool = True
    """Taken back by whoever decides by more than what the object, its name aside, and the cluster say."""
    annotations: dict[str, str] = {}
    """What the audit log is to be told."""
    is_quota_shared: bool = False
    """Others give out the room of quotas as well, and note in the status what is used before it is there."""
    quota_used: dict[str, dict[str, str]] = {}
    """Of each quota that has room for it: what is used with it, by the names that it counts for."""
    kind_version: str = ""
    """The group version of the kind, when it is not that of the resource."""
    equivalents: EquivalentVersions | None = None
    """None: the resource has no other versions."""
    requested: VersionedResource | None = None
    """What was asked for, when this shows it in another version."""
    prepared: dict[VersionedResource, "Attributes"] = {}
    """The same request in other versions, for those who cannot wait for a conversion."""

    @property
    def versioned_resource(self) -> VersionedResource:
        version = self.kind_version or (f"{self.group}/{self.version}" if self.group else self.version)
        return VersionedResource(
            group=self.group, version=self.version, resource=self.resource, kind=self.kind, kind_version=version
        )

    @property
    def group_resource(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


Weigh = Callable[[Document], Amounts]
Docs = Sequence[Mapping[str, Any]]  # documents


class ClusterReader(Protocol):
    """What a plugin may look up: current documents. `resource` is `pods` or `daemonsets.apps`."""

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None: ...

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]: ...

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        """The sum of what `weigh` gives for all objects in a namespace, those on their way to the disk included.

        `name` tells ways of weighing apart: the same one always means the same `weigh`.
        """
        ...

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        """The labels alone, which cost less than the document; None when there is no such object."""
        ...

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        """The resource of a kind that is served, and whether it is namespaced."""
        ...

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        """Documents that were looked up, in that version of their kind. Raises Unconvertible."""
        ...

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        """Have them converted, where it takes a webhook: `converted` has them from then on. Raises its failure."""
        ...


ANY: Final = "*"


class RequestPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A request as far as it is known before its object is looked at."""

    user: User
    operation: Operation
    subresource: str = ""
    node: str = ""
    """The node that the pod is on, or whose lease it is."""
    names_claims: bool = False
    """Whether it says which resource claims a pod has."""
    allocates: bool = False
    """Whether all it says is what a claim was given, without an administrator's access, and for whom it is reserved."""


PreviewPredicate = Callable[[RequestPreview, ClusterReader], bool]
"""Whether such a request is certain to pass unchanged, whatever its object is."""


class Interest(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that a plugin wants to see. `ANY` stands for every resource, or every subresource and none."""

    resource: str
    subresource: str = ""
    operations: frozenset[Operation]
    passes: PreviewPredicate | None = None
    """Asked about requests that are covered; None: each of them is looked at."""

    def covers(self, resource: str, subresource: str, operation: Operation) -> bool:
        return (
            operation in self.operations
            and self.resource in (ANY, resource)
            and (self.subresource == ANY or self.subresource == subresource)
        )


CREATE: Final = frozenset({Operation.CREATE})
UPDATE: Final = frozenset({Operation.UPDATE})
CREATE_AND_UPDATE: Final = CREATE | UPDATE
WRITES: Final = CREATE_AND_UPDATE | {Operation.DELETE}


class AdmissionPlugin(Protocol):
    """Every plugin; it is also a `MutatingPlugin`, a `ValidatingPlugin`, a `QuotaPlugin` or several of them."""

    @property
    def name(self) -> str: ...

    @property
    def interests(self) -> Sequence[Interest]: ...


@runtime_checkable
class MutatingPlugin(Protocol):
    def admit(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        """Change `attributes.obj`, or refuse. Runs before validation, perhaps more than once."""
        ...


@runtime_checkable
class ValidatingPlugin(Protocol):
    def validate(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        """Refuse or not. Runs on the final, valid object."""
        ...


@runtime_checkable
class QuotaPlugin(Protocol):
    def limit(self, attributes: Attributes, cluster: ClusterReader, now: Instant) -> None:
        """Refuse what would be one too many. Runs last, when nobody is waited for any more before the write."""
        ...


def refusal(attributes: Attributes, why: str, *, causes: Sequence[Cause] = ()) -> ApiError:
    """403, naming the object as the request did."""
    return forbidden_request(
        GroupResource(attributes.group, attributes.resource), requested_name(attributes), why, causes=causes
    )


def requested_name(attributes: Attributes) -> str:
    if attributes.name:
        return attributes.name
    metadata: Mapping[str, Any] = (attributes.obj or attributes.old or {}).get("metadata") or {}
    name: str = metadata.get("name") or metadata.get("generateName") or "Unknown"
    return name


def plain_refusal(text: str) -> ApiError:
    """An error that a plugin did not dress up: the API answers 500 with its bare text."""
    return ApiError(500, "", text)
