"""Scheduler extenders, as they are configured: services that are asked over HTTP about pods they are interested in.

Rules
-----
1. An extender is interested in every pod, or, if it manages resources, in pods that name one of them.
2. Those that may be ignored are asked last.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.api.views.pods import Pod

TIMEOUT_SECONDS: Final = 5.0


class ManagedResource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ignored_by_scheduler: bool = False


class ExtenderTls(msgspec.Struct, frozen=True, kw_only=True):
    """Files are paths; data are PEM."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(msgspec.Struct, frozen=True, kw_only=True):
    url_prefix: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    tls: ExtenderTls | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    node_cache_capable: bool = False
    """It knows the nodes: names will do."""
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    def is_interested(self, pod: Pod) -> bool:
        """Rule 1."""
        managed = {resource.name for resource in self.managed_resources}
        return not managed or any(
            name in managed
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
            for name in amounts
        )

    @property
    def takes_part(self) -> bool:
        """Whether it takes part in the decision and does not merely bind."""
        return bool(self.filter_verb or self.prioritize_verb or self.preempt_verb)


def in_turn(extenders: Sequence[Extender]) -> tuple[Extender, ...]:
    """Rule 2."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))
