"""What a decision asks for, as values.

Reconcilers, the scheduler and the planner return actions; one executor carries them out through a client.
So a decision can be tested in a table, printed and replayed. `resource` is the group resource as in
messages: `pods`, `daemonsets.apps`.
"""

from enum import StrEnum
from typing import Any

import msgspec

from doorman.base.clock import Instant


class PatchType(StrEnum):
    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all actions."""


class Create(Action, frozen=True, kw_only=True):
    resource: str
    namespace: str = ""
    body: dict[str, Any]
    is_given_away: bool = False
    """Nobody else has the body, and it is as the server would keep it: no empty members, the right types."""
    is_waited_for: bool = True
    """As of a patch."""


class Update(Action, frozen=True, kw_only=True):
    """PUT: the body carries the resourceVersion it was read at, or none to overwrite."""

    resource: str
    namespace: str = ""
    name: str
    subresource: str = ""
    body: dict[str, Any]


class Patch(Action, frozen=True, kw_only=True):
    resource: str
    namespace: str = ""
    name: str
    subresource: str = ""
    body: Any
    type: PatchType = PatchType.STRATEGIC
    manager: str = ""
    """Whose fields they are, when not those of whoever acts. What is applied is forced."""
    is_waited_for: bool = True
    """False: a write that follows at once waits for both, which saves a turn."""


class Delete(Action, frozen=True, kw_only=True):
    resource: str
    namespace: str = ""
    name: str
    grace_seconds: int | None = None
    uid: str = ""
    """Delete only this very object, not a namesake."""
    resource_version: str = ""
    propagation: str = ""
    status_patch: dict[str, Any] | None = None
    """A strategic patch that is written just before, and says why it goes. Both are waited for together."""

    def patch_before(self) -> Patch | None:
        """The same as an action."""
        if self.status_patch is None:
            return None
        return Patch(
            resource=self.resource,
            namespace=self.namespace,
            name=self.name,
            subresource="status",
            body=self.status_patch,
            is_waited_for=False,
        )


class Bind(Action, frozen=True, kw_only=True):
    namespace: str
    name: str
    uid: str
    node: str


class Renew(Action, frozen=True, kw_only=True):
    """The heartbeat of many nodes at once: their leases are in order but for the time."""

    nodes: tuple[str, ...]
    at: Instant


class ObjectReference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class RecordEvent(Action, frozen=True, kw_only=True):
    """An Event. `component` is its source, on `host`; with `action` set it is written through events.k8s.io/v1.

    Recording never fails an action list: an event that cannot be written is dropped, as Kubernetes does.
    """

    regarding: ObjectReference
    type: str = "Normal"
    reason: str
    message: str
    component: str
    host: str = ""
    """The node, when the component is a node's."""
    action: str = ""
    related: ObjectReference | None = None
    cause: Any = None
    """The same as a value, for those in process who follow what components do; it is not written."""
