"""What controllers are built from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kinds
from doorman.api.views.coordination import Lease
from doorman.api.views.meta import Object
from doorman.api.well_known import EVENTS, LEASES
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.client.informer_cache import ListerOf
from doorman.client.informers import Informers
from doorman.controllers.autoscaling.scale_targets import CustomScales
from doorman.controllers.certificates.certificate_approver import AccessCheck
from doorman.controllers.cluster.resource_quota_controller import TotalOf
from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.nodes.agent_settings import AgentSettings, agent_settings_for
from doorman.nodes.status.unwritten_leases import UnwrittenLeases, renews_unwritten
from doorman.runtime.settings import Settings

_NO_CONTENT: Final = frozenset(("bindings", "events.events.k8s.io", "localsubjectaccessreviews.authorization.k8s.io"))
"""Namespaced, but nothing of theirs is stored under their own name."""


class ControllerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What controllers are built from."""

    informers: Informers
    kinds: Kinds
    settings: Settings
    ca_certificate: bytes
    ca_key: bytes = b""
    """Empty: nothing is signed."""
    signing_certificate: bytes = b""
    """Of that key; empty: it is `ca_certificate`."""
    authorize: AccessCheck
    """Says who may do what."""
    total_of: TotalOf
    """Says what quotas are held against."""
    instances: Callable[[str], Sequence[Object]]
    """All objects of a custom kind."""
    own_service: Mapping[str, Document]
    """The API's own service and where it leads, by resource."""
    now: Callable[[], Instant]
    custom_scales: CustomScales = lambda _reference, _namespace: None
    """The scales of custom kinds."""

    def lister(self, resource: str) -> ListerOf[Any]:
        return self.informers.lister(resource)

    def agent_settings(self) -> AgentSettings:
        return agent_settings_for(
            self.settings.node_lifecycle.node_monitor_grace_period_seconds,
            comparison_operators=self.settings.gates.comparison_operators,
            pod_lives=self.settings.pod_lives,
            writes_leases=self.settings.writes_leases,
            resumed_at=self.settings.resumed_at,
        )

    def node_lifecycle_settings(self) -> NodeLifecycleSettings:
        settings = msgspec.structs.replace(self.settings.node_lifecycle, resumed_at=self.settings.resumed_at)
        if self.settings.writes_leases:
            return settings
        return msgspec.structs.replace(settings, is_alive_for_certain=renews_unwritten)

    def signs_of_life(self) -> ListerOf[Lease]:
        """Leases, as the node-lifecycle-controller looks at them."""
        if self.settings.writes_leases:
            return self.lister(LEASES)
        period_seconds = self.agent_settings().lease_renew_seconds
        return UnwrittenLeases(self.lister(LEASES), self.lister("nodes"), period_seconds, self.now)

    def contents(self) -> Mapping[str, ListerOf[Any]]:
        """Listers of every namespaced kind that is stored. Events, of which there are more than of anything else, are
        followed by nobody: they are looked for when a namespace goes.
        """
        rows = [row for row in self.kinds.rows if row.namespaced and row.group_resource == row.storage]
        names = [row.storage for row in rows if "delete" in row.verbs and row.storage not in _NO_CONTENT]
        informers = self.informers
        return {name: (informers.live if name == EVENTS else informers.lister)(name) for name in dict.fromkeys(names)}

    def collectable(self) -> Mapping[str, ListerOf[Any]]:
        """Listers of every kind that may own or be owned."""
        names = [row.storage for row in self.kinds.rows if "delete" in row.verbs and row.storage != EVENTS]
        return {name: self.lister(name) for name in dict.fromkeys(names)}
