"""Taints and tolerations as typed values, and the keys Kubernetes itself uses."""

from enum import StrEnum
from typing import Final

from doorman.api.views.meta import View


class Effect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TolerationOperator(StrEnum):
    EQUAL = "Equal"
    EXISTS = "Exists"
    LT = "Lt"
    GT = "Gt"


NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
OUT_OF_DISK: Final = "node.kubernetes.io/out-of-disk"
UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"


class Taint(View, frozen=True, kw_only=True):
    """What a node repels. Strings, not enums: the rules are also fed what nobody has validated."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""

    def __str__(self) -> str:
        """kubectl's short form: `key`, `key=value:`, `key:effect` or `key=value:effect`."""
        if not self.effect:
            return f"{self.key}={self.value}:" if self.value else self.key
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(View, frozen=True, kw_only=True):
    """What a pod puts up with. An empty key is every key, an empty effect every effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None
